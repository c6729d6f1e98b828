"""Going on from what a run left: with the checkpoints of a real one."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from cleanrl_worker import get_worker_metadata
from mosaic.contracts.continuation import continue_config, evaluation_config, policy_config
from mosaic.contracts.errors import ConfigError, MosaicError, NotFound
from mosaic.contracts.paths import VarPaths
from mosaic.contracts.saved_states import find_states
from mosaic.contracts.settings import OperatorSettings
from mosaic.trainer.scheduler import Reservation
from mosaic.trainer.submission import Submission, prepare, write_launch_files
from mosaic.workers.discovery import DiscoveredWorker
from tests.cleanrl_worker.conftest import start_worker

TOTAL = 3100
END = 3072  # the last whole batch below it; cuts at 1024, 2048 and here


class Home:
    """A data directory, and a run that was trained in it from a submission."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.paths = VarPaths(directory / "var")
        self.parent = self.submit(PARENT)
        self.run(self.parent)
        self.config = self.parent.run_config.to_json()  # as the store keeps it
        self.run_dir = self.paths.run(self.parent.run_id).root

    def submit(self, config: dict[str, Any]) -> Submission:
        workers = (DiscoveredWorker("cleanrl", get_worker_metadata()),)
        return prepare(json.dumps(config), {}, workers, OperatorSettings())

    def run(self, submission: Submission) -> dict[str, Any]:
        """Run the worker as the daemon does, and return its manifest."""
        stored = submission.run_config.to_json()
        given = write_launch_files(self.paths, submission.run_id, stored, Reservation(1, 512))
        done = start_worker(self.directory, "--config", str(given))
        assert done.returncode == 0, done.stderr
        root = self.paths.run(submission.run_id, submission.mode).root
        manifest: dict[str, Any] = json.loads((root / "analytics.json").read_text())
        return manifest

    def copy(self, tmp_path: Path) -> Path:
        """Return a copy of the run's directory that a test may damage."""
        return Path(shutil.copytree(self.run_dir, tmp_path / self.parent.run_id))


PARENT: dict[str, Any] = {
    "run_name": "the parent",
    "idempotency_key": "once",
    "metadata": {
        "worker": {
            "module": "cleanrl_worker.cli",
            "config": {
                "algo": "ppo",
                "env_id": "CartPole-v1",
                "total_timesteps": TOTAL,
                "seed": 3,
                "extras": {
                    "checkpoint_interval": 1000,
                    "algo_params": {"num_envs": 1, "num_steps": 128, "learning_rate": 0.001},
                },
            },
        }
    },
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    return Home(tmp_path_factory.mktemp("continuation"))


def worker_config(config: dict[str, Any]) -> dict[str, Any]:
    return dict(config["metadata"]["worker"]["config"])


def mark_as_killed(run_dir: Path, last_step: int) -> None:
    """Leave a run as a crash at this step would."""
    manifest = run_dir / "analytics.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"status": "running"}))
    for state in find_states(run_dir):
        if state.step > last_step:
            shutil.rmtree(state.path)


def mark_as_inexact(run_dir: Path, step: int) -> None:
    document = run_dir / "checkpoints" / f"step-{step}.ckpt" / "checkpoint.json"
    document.write_text(json.dumps(json.loads(document.read_text()) | {"exact": False}))


def test_a_crashed_run_goes_on_from_its_last_checkpoint_as_a_new_run(
    home: Home, tmp_path: Path
) -> None:
    run_dir = home.copy(tmp_path)
    mark_as_killed(run_dir, 2048)
    config = continue_config(home.config, run_dir)
    assert "run_name" not in config
    assert "idempotency_key" not in config
    assert home.config["run_name"] == "the parent"  # untouched
    child = home.submit(config)
    assert child.mode == "resume_training"
    assert child.run_id != home.parent.run_id
    assert child.worker_config["worker_id"] == f"cleanrl-worker-{child.run_id[:8]}"
    manifest = home.run(child)
    assert manifest["status"] == "completed"
    assert manifest["seed"] == 3
    assert manifest["lineage"]["parent_run_id"] == home.parent.run_id
    assert manifest["lineage"]["exact"] is True
    steps = [state.step for state in find_states(home.paths.run(child.run_id).root)]
    assert steps == [END]


def test_a_step_a_larger_total_and_other_settings_can_be_named(home: Home) -> None:
    config = worker_config(
        continue_config(
            home.config,
            home.run_dir,
            from_step=1024,
            total_timesteps=9000,
            changes={"algo_params": {"learning_rate": 0.01}, "save_model": False},
        )
    )
    assert config["total_timesteps"] == 9000
    extras = config["extras"]
    assert extras["checkpoint_path"].endswith("/checkpoints/step-1024.ckpt")
    assert Path(extras["checkpoint_path"]).is_absolute()
    assert extras["algo_params"] == {"num_envs": 1, "num_steps": 128, "learning_rate": 0.01}
    assert extras["save_model"] is False


def test_a_successor_may_move_to_a_gpu(home: Home) -> None:
    stays = continue_config(home.config, home.run_dir, total_timesteps=9000)
    assert home.submit(stays).request.gpus == 0
    moves = evaluation_config(home.config, home.run_dir, changes={"cuda": True})
    assert home.submit(moves).request.gpus == 1


def test_an_interpreter_that_moved_stops_nobody(home: Home) -> None:
    moved = {**home.config, "entry_point": "/old/venv/bin/python"}
    assert home.submit(continue_config(moved, home.run_dir, total_timesteps=9000))


def refusal(kind: type[MosaicError], *arguments: Any, **named: Any) -> str:
    with pytest.raises(kind) as caught:
        continue_config(*arguments, **named)
    return caught.value.one_line()


def test_a_complete_run_needs_a_larger_total(home: Home, tmp_path: Path) -> None:
    line = refusal(ConfigError, home.config, home.run_dir)
    assert f"is complete: it stands at step {END} of {TOTAL}. Give a larger --total" in line
    assert continue_config(home.config, home.run_dir, from_step=1024)
    # One that was killed while it saved its model stands at its end, and that remains to do.
    run_dir = home.copy(tmp_path)
    mark_as_killed(run_dir, END)
    assert continue_config(home.config, run_dir)


def test_a_step_that_was_not_saved(home: Home, tmp_path: Path) -> None:
    run_dir = home.copy(tmp_path)
    mark_as_inexact(run_dir, 2048)
    line = refusal(NotFound, home.config, run_dir, from_step=5)
    assert line.endswith("has no checkpoint of step 5. It has: 1024, 2048 (left by a stop), 3072.")


def test_the_last_exact_one_is_taken_and_an_inexact_one_only_by_name(
    home: Home, tmp_path: Path
) -> None:
    run_dir = home.copy(tmp_path)
    mark_as_killed(run_dir, 2048)
    mark_as_inexact(run_dir, 2048)
    taken = worker_config(continue_config(home.config, run_dir))["extras"]["checkpoint_path"]
    assert taken.endswith("step-1024.ckpt")
    shutil.rmtree(run_dir / "checkpoints" / "step-1024.ckpt")
    line = refusal(NotFound, home.config, run_dir)
    assert "has no exact checkpoint to go on from. --from 2048 takes one that is not" in line
    assert continue_config(home.config, run_dir, from_step=2048)


@pytest.mark.parametrize(
    "text", ["", "[]", '{"step": 2048}', '{"step": 7, "exact": true}', "[" * 9]
)
def test_a_damaged_checkpoint_is_passed_over(home: Home, tmp_path: Path, text: str) -> None:
    run_dir = home.copy(tmp_path)
    mark_as_killed(run_dir, 2048)
    (run_dir / "checkpoints" / "step-2048.ckpt" / "checkpoint.json").write_text(text)
    (run_dir / "checkpoints" / "step-9999.ckpt").symlink_to(run_dir)
    (run_dir / "checkpoints" / "step-8888.ckpt.tmp").mkdir()
    taken = worker_config(continue_config(home.config, run_dir))["extras"]["checkpoint_path"]
    assert taken.endswith("step-1024.ckpt")


def test_a_run_without_checkpoints(home: Home, tmp_path: Path) -> None:
    line = refusal(NotFound, home.config, tmp_path / "nothing")
    assert f"Run {home.parent.run_id} has no checkpoint to go on from" in line
    child = home.submit(continue_config(home.config, home.run_dir, total_timesteps=9000))
    line = refusal(NotFound, child.run_config.to_json(), tmp_path / "nothing")
    assert "step-3072.ckpt': resume the run that wrote that." in line


def test_a_limit_of_steps_is_lifted_only_on_request(home: Home) -> None:
    limited = {**home.config, "schedule": {"max_steps": 2000, "max_duration_seconds": 60}}
    line = refusal(ConfigError, limited, home.run_dir, from_step=2048)
    assert "schedule.max_steps=2000, and its checkpoint is of step 2048" in line
    made = continue_config(limited, home.run_dir, from_step=2048, total_timesteps=9000)
    assert made["schedule"] == {"max_steps": None, "max_duration_seconds": 60}
    assert continue_config(limited, home.run_dir, from_step=1024)["schedule"]["max_steps"] == 2000


def test_evaluating_what_a_run_has_learned(home: Home) -> None:
    config = evaluation_config(home.config, home.run_dir, changes={"eval_batch_size": 2})
    submission = home.submit(config)
    assert submission.mode == "policy_eval"
    assert submission.worker_config["extras"]["policy_path"].endswith("ppo.cleanrl_model")
    assert home.run(submission)["status"] == "completed"
    summary = home.paths.run(submission.run_id, "policy_eval").evaluation_summary
    assert json.loads(summary.read_text())["episodes"] == 2
    line = refusal(ConfigError, submission.run_config.to_json(), home.run_dir)
    assert "is an evaluation: it learns nothing" in line


def test_a_run_that_saved_no_policy_is_evaluated_at_a_checkpoint(
    home: Home, tmp_path: Path
) -> None:
    run_dir = home.copy(tmp_path)
    shutil.rmtree(run_dir / "runs")
    paths = {
        step: worker_config(evaluation_config(home.config, run_dir, from_step=step))["extras"]
        for step in (None, 1024)
    }
    assert paths[None]["policy_path"].endswith("step-3072.ckpt")
    assert paths[1024]["policy_path"].endswith("step-1024.ckpt")
    shutil.rmtree(run_dir / "checkpoints")
    with pytest.raises(NotFound, match="neither a saved policy nor a checkpoint"):
        evaluation_config(home.config, run_dir)


def test_a_manifest_cannot_name_a_file_elsewhere(home: Home, tmp_path: Path) -> None:
    run_dir = home.copy(tmp_path)
    (tmp_path / "elsewhere").touch()
    for path in ("../elsewhere", str(tmp_path / "elsewhere"), "a\0b", 3):
        (run_dir / "analytics.json").write_text(
            json.dumps({"artifacts": {"policy": {"path": path}}})
        )
        extras = worker_config(evaluation_config(home.config, run_dir))["extras"]
        assert extras["policy_path"].endswith("step-3072.ckpt")


def test_a_policy_by_itself(home: Home, tmp_path: Path) -> None:
    (policy,) = home.run_dir.glob("runs/*/ppo.cleanrl_model")
    config = policy_config(policy)
    assert (config["algo"], config["env_id"]) == ("ppo", "CartPole-v1")
    checkpoint = home.run_dir / "checkpoints" / "step-1024.ckpt"
    assert policy_config(checkpoint, env_id="CartPole-v0")["env_id"] == "CartPole-v0"
    alone = Path(shutil.copy(policy, tmp_path / "theirs.cleanrl_model"))
    with pytest.raises(ConfigError, match="algo is missing"):
        policy_config(alone)
    assert policy_config(alone, algo="dqn", env_id="CartPole-v1")["algo"] == "dqn"
    with pytest.raises(NotFound, match="does not exist"):
        policy_config(tmp_path / "nothing.cleanrl_model")
