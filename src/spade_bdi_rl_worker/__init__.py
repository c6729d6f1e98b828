"""The Spade BDI worker: agents with beliefs, desires and intentions that learn what they lack."""

from __future__ import annotations

from pathlib import Path

from mosaic import __version__
from mosaic.contracts.capabilities import WorkerCapabilities

SCHEMA_PATH = Path(__file__).with_name("schema.json")


def get_worker_metadata() -> WorkerCapabilities:
    """Describe the worker; the entry point of discovery, so it imports nothing heavy."""
    return WorkerCapabilities(
        worker_type="spade_bdi_rl_worker",
        supported_paradigms=("sequential",),
        env_families=("toy_text",),
        action_spaces=("discrete",),
        observation_spaces=("discrete",),
        max_agents=1,
        supports_checkpointing=True,
        supports_pause=True,
        requires_gpu=False,
        estimated_memory_mb=256,
        lane="telemetry",
        module="spade_bdi_rl_worker.cli",
        display_name="Spade BDI Worker",
        description="Agents with beliefs, desires and intentions that learn where plans end.",
        version=__version__,
        schema=SCHEMA_PATH,
    )
