"""A worker that trains nothing: it emits the events of a run, as its environment id says."""

from pathlib import Path

from mosaic.contracts.capabilities import WorkerCapabilities


def describe() -> WorkerCapabilities:
    return WorkerCapabilities(
        worker_type="toy",
        supported_paradigms=("sequential",),
        env_families=("toy",),
        action_spaces=("discrete",),
        observation_spaces=("vector",),
        max_agents=1,
        supports_checkpointing=False,
        supports_pause=False,
        requires_gpu=False,
        estimated_memory_mb=64,
        lane="analytics",
        module="toy_worker.cli",
        display_name="Toy Worker",
        description="Emits the events of a run.",
        version="1.0",
        schema=Path(__file__).with_name("schema.json"),
    )
