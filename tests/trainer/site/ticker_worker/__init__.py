"""A worker that counts: its events are numbered, so that a lost or doubled one shows."""

from pathlib import Path

from mosaic.contracts.capabilities import WorkerCapabilities


def describe() -> WorkerCapabilities:
    return WorkerCapabilities(
        worker_type="ticker",
        supported_paradigms=("sequential",),
        env_families=("ticker",),
        action_spaces=("discrete",),
        observation_spaces=("vector",),
        max_agents=1,
        supports_checkpointing=False,
        supports_pause=True,
        requires_gpu=False,
        estimated_memory_mb=32,
        lane="analytics",
        module="ticker_worker.cli",
        display_name="Ticker",
        description="Counts.",
        version="1.0",
        schema=Path(__file__).with_name("schema.json"),
    )
