"""The CleanRL worker: reinforcement-learning algorithms behind one worker contract."""

from __future__ import annotations

from pathlib import Path

from mosaic import __version__
from mosaic.contracts.capabilities import WorkerCapabilities

SCHEMA_PATH = Path(__file__).with_name("schema.json")


def get_worker_metadata() -> WorkerCapabilities:
    """Describe the worker; the entry point of discovery, so it imports nothing heavy."""
    return WorkerCapabilities(
        worker_type="cleanrl",
        supported_paradigms=("sequential",),
        env_families=(
            "gymnasium",
            "atari",
            "procgen",
            "mujoco",
            "dm_control",
            "minigrid",
            "babyai",
            "pettingzoo",
        ),
        action_spaces=("discrete", "continuous"),
        observation_spaces=("vector", "image"),
        max_agents=1,
        supports_checkpointing=True,
        supports_pause=True,
        requires_gpu=False,
        estimated_memory_mb=512,
        lane="analytics",
        module="cleanrl_worker.cli",
        display_name="CleanRL Worker",
        description="Reinforcement-learning algorithms, one readable file each.",
        version=__version__,
        schema=SCHEMA_PATH,
    )
