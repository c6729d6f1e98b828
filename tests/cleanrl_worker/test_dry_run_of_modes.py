"""The dry run of each mode finds what is not there, in one line, and writes nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cleanrl_worker.conftest import RunWorker

CONFIG = {"run_id": "r", "algo": "ppo", "env_id": "CartPole-v1", "total_timesteps": 2048}
STAGES = [{"env_id": "CartPole-v1"}, {"env_id": "Acrobot-v1"}]


@pytest.mark.parametrize(
    ("extras", "says"),
    [
        ({"mode": "resume_training"}, "extras.checkpoint_path"),
        ({"mode": "resume_training", "checkpoint_path": "absent.ckpt"}, "absent.ckpt"),
        ({"mode": "resume_training", "checkpoint_path": "."}, "checkpoint"),
        ({"mode": "policy_eval"}, "needs extras.policy_path"),
        ({"mode": "policy_eval", "policy_path": "absent"}, "does not exist"),
        ({"mode": "interactive", "policy_path": "absent"}, "does not exist"),
        ({"curriculum_schedule": STAGES}, "'Acrobot-v1' has the observation space"),
    ],
)
def test_what_is_missing_is_found_before_anything_runs(
    run_worker: RunWorker, tmp_path: Path, extras: dict[str, Any], says: str
) -> None:
    done = run_worker("--dry-run", config={**CONFIG, "extras": extras})
    assert done.returncode == 2, done.stderr
    (line,) = done.stderr.splitlines()
    assert says in line
    assert "event" not in done.stdout
    assert not (tmp_path / "var").exists()
