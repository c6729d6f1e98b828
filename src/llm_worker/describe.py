"""The schema of the worker, printed from its one player."""

from __future__ import annotations

from typing import Any

from llm_worker.config import Config
from mosaic.contracts.parameters import parameters_of
from mosaic.contracts.schema import SCHEMA_VERSION

_ENVIRONMENTS = (
    "BabyAI-GoToRedBallNoDists-v0",
    "BabyAI-GoToObj-v0",
    "MiniGrid-Empty-5x5-v0",
    "MiniGrid-DoorKey-5x5-v0",
    "FrozenLake-v1",
    "CliffWalking-v1",
    "Taxi-v4",
)


def describe() -> dict[str, Any]:
    return {
        "schema_version": SCHEMA_VERSION,
        "worker_type": "llm_worker",
        "algorithms": [
            {
                "name": "llm_player",
                "module": "llm_worker.runs",
                "summary": "A language model that chooses actions, several of them a prompt.",
                "source": "the chat completions of OpenAI-compatible services",
                "env_families": ["minigrid", "babyai", "toy_text"],
                "extras": ["minigrid"],
                "fields": [parameter.to_json() for parameter in parameters_of(Config)],
                "tuned": [
                    {"env_id": env_id, "values": {}, "source": "known to be told well in words"}
                    for env_id in _ENVIRONMENTS
                ],
            }
        ],
    }
