"""The human worker: a person plays, and every step is recorded."""

from __future__ import annotations

from pathlib import Path

from mosaic import __version__
from mosaic.contracts.capabilities import WorkerCapabilities

SCHEMA_PATH = Path(__file__).with_name("schema.json")


def get_worker_metadata() -> WorkerCapabilities:
    """Describe the worker; the entry point of discovery, so it imports nothing heavy."""
    return WorkerCapabilities(
        worker_type="human_worker",
        supported_paradigms=("sequential",),
        env_families=("gymnasium", "toy_text", "minigrid", "babyai", "atari"),
        action_spaces=("discrete",),
        observation_spaces=("vector", "image", "discrete"),
        max_agents=1,
        supports_checkpointing=False,
        supports_pause=True,
        requires_gpu=False,
        estimated_memory_mb=256,
        lane="telemetry",
        module="human_worker.cli",
        display_name="Human-Only",
        description="A person plays, and every step is recorded.",
        version=__version__,
        schema=SCHEMA_PATH,
    )
