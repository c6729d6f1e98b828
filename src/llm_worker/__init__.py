"""The LLM worker: a language model chooses the actions, several of them a prompt."""

from __future__ import annotations

from pathlib import Path

from mosaic import __version__
from mosaic.contracts.capabilities import WorkerCapabilities

SCHEMA_PATH = Path(__file__).with_name("schema.json")


def get_worker_metadata() -> WorkerCapabilities:
    """Describe the worker; the entry point of discovery, so it imports nothing heavy."""
    return WorkerCapabilities(
        worker_type="llm_worker",
        supported_paradigms=("sequential",),
        env_families=("minigrid", "babyai", "toy_text"),
        action_spaces=("discrete",),
        observation_spaces=("discrete", "text"),
        max_agents=1,
        supports_checkpointing=False,
        supports_pause=True,
        requires_gpu=False,
        estimated_memory_mb=256,
        lane="hybrid",
        module="llm_worker.cli",
        display_name="LLM Multi-Step Worker",
        description="A language model that chooses actions, several of them a prompt.",
        version=__version__,
        schema=SCHEMA_PATH,
    )
