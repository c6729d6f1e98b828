"""What a continuation does otherwise than its run, in words."""

from __future__ import annotations

from typing import Any

from mosaic.contracts.resume_request import resume_difference
from mosaic.workers.discovery import load_catalogue


def document(total: int, **extras: Any) -> dict[str, Any]:
    config = {"algo": "ppo", "env_id": "CartPole-v1", "total_timesteps": total, "extras": extras}
    return {"metadata": {"worker": {"config": config}}}


def test_only_what_differs_is_told() -> None:
    algorithm = load_catalogue().find("ppo").algorithm
    before = document(1000, algo_params={"num_envs": 8}, notes="a")
    after = document(
        3000,
        mode="resume_training",
        checkpoint_path="x",
        algo_params={"num_envs": 8, "learning_rate": 0.001, "gamma": 0.99},
        notes="a",
    )
    assert resume_difference(before, after, algorithm) == [
        "total_timesteps: 1000 → 3000",
        "learning_rate: 0.00025 → 0.001",
    ]
