"""The schema of the worker."""

from __future__ import annotations

from typing import Any

from human_worker.games import GAMES
from human_worker.runs import Config
from mosaic.contracts.parameters import parameters_of
from mosaic.contracts.schema import SCHEMA_VERSION


def describe() -> dict[str, Any]:
    return {
        "schema_version": SCHEMA_VERSION,
        "worker_type": "human_worker",
        "algorithms": [
            {
                "name": "human",
                "module": "human_worker.runs",
                "summary": "A person plays, key by key.",
                "source": "you",
                "env_families": ["gymnasium", "toy_text", "minigrid", "babyai", "atari"],
                "extras": [],
                "fields": [parameter.to_json() for parameter in parameters_of(Config)],
                "tuned": [
                    {"env_id": env_id, "values": {}, "source": "its keys are known"}
                    for env_id in GAMES
                ],
            }
        ],
    }
