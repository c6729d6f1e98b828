"""One recipe of each family as its callers start it: the worker's own command line, end to end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from cleanrl_worker.recipes import RECIPES
from mosaic.contracts.errors import EXIT_OK
from tests.cleanrl_worker.conftest import CONFIG, SOURCE, start_worker
from tests.contract.short_games import SHORT_GAME

STEPS = 128  # replay learners first log their losses at step 100
GAMES = Path(__file__).parent  # where the short game's module lies


@pytest.mark.parametrize(
    ("algo", "env_id"),
    [
        ("dqn", "CartPole-v1"),
        ("td3_continuous_action", "Hopper-v5"),
        ("ppo", "MiniGrid-Empty-5x5-v0"),
        ("c51_atari", f"short_games:{SHORT_GAME}"),
    ],
    ids=["classic control", "mujoco", "minigrid", "atari"],
)
def test_it_trains_and_saves_through_the_command_line(
    tmp_path: Path, algo: str, env_id: str
) -> None:
    reserved = ("env_id", "total_timesteps")
    params = {name: item for name, item in RECIPES[algo].smoke.items() if name not in reserved}
    config = {
        **CONFIG,
        "algo": algo,
        "env_id": env_id,
        "total_timesteps": STEPS,
        "extras": {"algo_params": params},
    }
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "mosaic.toml").write_text('[allow]\nenv_modules = ["short_games"]\n')

    done = start_worker(
        tmp_path, config=config, MOSAIC_VAR_DIR="data", PYTHONPATH=f"{SOURCE}:{GAMES}"
    )

    assert done.returncode == EXIT_OK, done.stderr
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert events[-1]["event"] == "run_completed"
    manifest = events[-1]["payload"]["manifest"]
    assert any(tag.startswith("losses/") for tag in manifest["metrics"]["final"])
    assert "eval/episodic_return" in manifest["metrics"]["final"]
    run_dir = tmp_path / "data" / "trainer" / "runs" / CONFIG["run_id"]
    weights = torch.load(run_dir / manifest["artifacts"]["policy"]["path"], weights_only=True)
    assert all(tensor.isfinite().all() for tensor in weights.values())
