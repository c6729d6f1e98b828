"""The worker around the real algorithm: PPO on CartPole, end to end."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.cleanrl_worker.conftest import CONFIG, SOURCE, RunWorker, start_worker
from tests.workers.test_processes import wait_until_gone

CANARY = "canary-0123456789"


class Finished:
    """A run that has ended, and where it lies."""

    def __init__(self, directory: Path, done: subprocess.CompletedProcess[str]) -> None:
        self.directory = directory
        self.run_dir = directory / "var" / "trainer" / "runs" / CONFIG["run_id"]
        self.done = done
        self.events: list[dict[str, Any]] = [json.loads(line) for line in done.stdout.splitlines()]

    def metric_rows(self) -> list[dict[str, Any]]:
        lines = (self.run_dir / "metrics.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    directory = tmp_path_factory.mktemp("train")
    extras = {**CONFIG["extras"], "wandb_api_key": CANARY, "notes": "a short one"}
    done = start_worker(directory, config={**CONFIG, "extras": extras})
    assert done.returncode == 0, done.stderr
    return Finished(directory, done)


def test_stdout_is_events_from_started_to_completed(finished: Finished) -> None:
    names = [event["event"] for event in finished.events]
    assert names[0] == "run_started"
    assert names[-1] == "run_completed"
    assert set(names[1:-1]) <= {"metric", "heartbeat", "checkpoint_saved"}
    for event in finished.events:
        assert set(event) == {"event", "run_id", "timestamp", "payload"}
        assert event["run_id"] == CONFIG["run_id"]
        assert isinstance(event["timestamp"], float)
    assert finished.done.stderr == ""


def test_the_files_of_a_run(finished: Finished) -> None:
    run_dir = finished.run_dir
    assert (run_dir / "analytics.json").is_file()
    assert (run_dir / "logs" / "cleanrl.stdout.log").is_file()
    assert (run_dir / "logs" / "cleanrl.stderr.log").is_file()
    assert list((run_dir / "tensorboard").glob("events.out.tfevents.*"))
    (model,) = (run_dir / "runs").glob("CartPole-v1__ppo__1__*/ppo.cleanrl_model")
    assert model.stat().st_size > 0
    assert (run_dir / "events.jsonl").read_text() == finished.done.stdout


def test_the_bridge_hands_on_every_point_of_the_full_series(finished: Finished) -> None:
    written = [
        [tag, row["step"], value]
        for row in finished.metric_rows()
        for tag, value in row["values"].items()
    ]
    bridged = [
        [tag, *point]
        for event in finished.events
        if event["event"] == "metric"
        for tag, points in event["payload"]["points"].items()
        for point in points
    ]
    assert sorted(bridged) == sorted(written)
    assert any(tag == "charts/episodic_return" for tag, *_ in written)


def test_the_manifest_of_a_completed_run(finished: Finished) -> None:
    manifest = json.loads((finished.run_dir / "analytics.json").read_text())
    assert manifest == finished.events[-1]["payload"]["manifest"]
    assert manifest["status"] == "completed"
    assert manifest["notes"] == "a short one"
    assert manifest["tensorboard_dir"] == "tensorboard"
    assert (finished.run_dir / manifest["artifacts"]["policy"]["path"]).is_file()
    returns = [
        row["values"]["eval/episodic_return"]
        for row in finished.metric_rows()
        if "eval/episodic_return" in row["values"]
    ]
    assert len(returns) == 10, "saving a model ends with ten evaluation episodes"
    assert manifest["metrics"]["final"]["eval/episodic_return"] == pytest.approx(sum(returns) / 10)
    assert manifest["resources"]["peak_rss_mb"] > 100
    assert manifest["resources"]["steps_per_second"] > 0


def test_a_secret_is_in_no_file_and_no_event(finished: Finished) -> None:
    assert CANARY not in finished.done.stdout
    files = [path for path in (finished.directory / "var").rglob("*") if path.is_file()]
    assert not [path for path in files if CANARY.encode() in path.read_bytes()]


def test_a_used_run_directory_is_refused_and_untouched(finished: Finished) -> None:
    before = (finished.run_dir / "analytics.json").read_bytes()
    done = start_worker(finished.directory, config=CONFIG)
    assert done.returncode == 2
    assert "was used before" in done.stderr
    assert (finished.run_dir / "analytics.json").read_bytes() == before


def children_cpu_s() -> float:
    """Return the processor time of the child processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def test_a_dry_run_tells_everything_and_writes_nothing(
    run_worker: RunWorker, tmp_path: Path
) -> None:
    before_s = children_cpu_s()
    subprocess.run([sys.executable, "-c", "import gymnasium, torch"], check=True)
    imports_s = children_cpu_s() - before_s
    extras = {**CONFIG["extras"], "fastlane_video_mode": "grid", "wandb_api_key": CANARY}
    before_s = children_cpu_s()
    done = run_worker("--dry-run", "--emit-summary", config={**CONFIG, "extras": extras})
    dry_run_s = children_cpu_s() - before_s
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert set(summary) == {
        "config", "algo", "module", "callable", "args", "env", "agent", "device", "resources",
        "warnings",
    }  # fmt: skip
    assert summary["args"] == [
        "--env-id=CartPole-v1",
        "--total-timesteps=2048",
        "--seed=1",
        "--tensorboard-dir=tensorboard",
        "--num-envs=4",
        "--num-steps=64",
    ]
    assert summary["module"] == "cleanrl_worker.algorithms.ppo"
    assert {"id", "family", "observation_space", "action_space"} <= set(summary["env"])
    assert summary["agent"]["parameters"] > 0
    assert any("fastlane_video_mode=grid" in warning for warning in summary["warnings"])
    assert CANARY not in done.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["cfg.json"]
    # Processor time, and beside that of the imports alone: the machine may be slow, or busy.
    assert dry_run_s < 3 * imports_s


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGKILL, -signal.SIGKILL)]
)
def test_training_ends_with_its_worker(tmp_path: Path, number: signal.Signals, code: int) -> None:
    (tmp_path / "cfg.json").write_text(json.dumps({**CONFIG, "total_timesteps": 10_000_000}))
    worker = subprocess.Popen(
        [sys.executable, "-m", "cleanrl_worker.cli", "--config", "cfg.json"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": SOURCE, "MOSAIC_VAR_DIR": "var"},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert worker.stdout is not None
    with worker.stdout as stdout:
        events = (json.loads(line) for line in stdout)
        next(event for event in events if event["event"] == "metric")
        (algorithm,) = psutil.Process(worker.pid).children()
        worker.send_signal(number)
        names = [event["event"] for event in events]
    assert worker.wait(timeout=30) == code
    assert wait_until_gone(algorithm.pid)
    assert (number == signal.SIGTERM) == ("run_cancelled" in names)


def test_an_environment_of_a_module_that_the_operator_allowed(
    run_worker: RunWorker, tmp_path: Path
) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "my_envs.py").write_text(
        "import gymnasium\n"
        "entry_point = 'gymnasium.envs.classic_control:CartPoleEnv'\n"
        "gymnasium.register('Mine-v0', entry_point=entry_point, max_episode_steps=50)\n"
    )
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "mosaic.toml").write_text('[allow]\nenv_modules = ["my_envs"]\n')
    done = run_worker(
        "--dry-run",
        config={**CONFIG, "env_id": "my_envs:Mine-v0"},
        MOSAIC_VAR_DIR="data",
        PYTHONPATH=f"{SOURCE}:site",
    )
    assert done.returncode == 0, done.stderr
    assert "dry run passed: ppo on my_envs:Mine-v0" in done.stderr


@pytest.mark.parametrize(
    ("changes", "code", "says"),
    [
        ({"extras": {"algo_params": {"num_minibatches": 6}}}, 2, "num_minibatches=6"),
        ({"total_timesteps": 100}, 2, "total_timesteps=100"),
        ({"env_id": "Pendulum-v1"}, 2, "Pendulum-v1"),
        ({"env_id": "MiniGrid-Empty-5x5-v0"}, 3, "mosaic-rl[minigrid]"),
    ],
    ids=["minibatches", "budget below a batch", "action space", "not installed"],
)
def test_what_only_the_algorithms_process_can_tell_is_refused_the_same_way(
    run_worker: RunWorker, tmp_path: Path, changes: dict[str, Any], code: int, says: str
) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text("import sys\nsys.modules['minigrid'] = None\n")
    done = run_worker(config={**CONFIG, **changes}, PYTHONPATH=f"{SOURCE}:{site}")
    assert done.returncode == code, done.stderr
    (line,) = done.stderr.splitlines()
    assert says in line
    last = json.loads(done.stdout.splitlines()[-1])
    assert (last["event"], last["payload"]["return_code"]) == ("run_failed", code)
    assert not (tmp_path / "var").exists()
