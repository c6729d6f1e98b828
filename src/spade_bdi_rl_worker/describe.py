"""The schema of the worker, printed from its one algorithm."""

from __future__ import annotations

from typing import Any

from mosaic.contracts.parameters import parameters_of
from mosaic.contracts.schema import SCHEMA_VERSION
from spade_bdi_rl_worker.q_learning import Config

_TUNED = (
    ("FrozenLake-v1", {"total_timesteps": 300_000}),
    ("FrozenLake8x8-v1", {"total_timesteps": 3_000_000, "gamma": 0.999}),
    (
        "CliffWalking-v1",
        {"total_timesteps": 100_000, "gamma": 1.0, "start_e": 0.3, "final_learning_rate": 0.1},
    ),
    ("Taxi-v4", {"total_timesteps": 500_000, "final_learning_rate": 0.1, "end_e": 0.05}),
)


def describe() -> dict[str, Any]:
    return {
        "schema_version": SCHEMA_VERSION,
        "worker_type": "spade_bdi_rl_worker",
        "algorithms": [
            {
                "name": "bdi_q_learning",
                "module": "spade_bdi_rl_worker.runs",
                "summary": "A BDI agent that learns by Q-learning where it has no plan.",
                "source": "Watkins (1989); plans in AgentSpeak (Rao, 1996)",
                "env_families": ["toy_text"],
                "extras": ["spade"],
                "fields": [parameter.to_json() for parameter in parameters_of(Config)],
                "tuned": [
                    {"env_id": env_id, "values": values, "source": "set by hand"}
                    for env_id, values in _TUNED
                ],
            }
        ],
    }
