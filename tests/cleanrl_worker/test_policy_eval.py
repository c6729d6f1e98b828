"""Policy evaluation through the worker: its files, its events, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from cleanrl_worker.analytics import RunManifest
from cleanrl_worker.config import parse_config
from mosaic.contracts.manifest import RunStatus
from mosaic.contracts.paths import VarPaths
from tests.cleanrl_worker.conftest import SOURCE, RunWorker, start_worker
from tests.cleanrl_worker.trained import Trained, train
from tests.workers.test_processes import wait_until_gone

BATCH = 4
CONFIG: dict[str, Any] = {
    "run_id": "eval-1",
    "algo": "ppo",
    "env_id": "CartPole-v1",
    "seed": 5,
    "extras": {"mode": "policy_eval", "eval_batch_size": BATCH},
}


def config(policy: Path, **extras: Any) -> dict[str, Any]:
    return {**CONFIG, "extras": {**CONFIG["extras"], "policy_path": str(policy), **extras}}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    directory = tmp_path_factory.mktemp("trained") / "run"
    return train(directory, "ppo", "--total-timesteps=256", "--num-envs=2", "--num-steps=64")


class Evaluated:
    """A finished evaluation, and where it lies."""

    def __init__(self, directory: Path, done: subprocess.CompletedProcess[str]) -> None:
        self.done = done
        self.run_dir = directory / "var" / "trainer" / "evals" / CONFIG["run_id"]
        self.events: list[dict[str, Any]] = [json.loads(line) for line in done.stdout.splitlines()]

    def read(self, name: str) -> dict[str, Any]:
        document: dict[str, Any] = json.loads((self.run_dir / name).read_text())
        return document


@pytest.fixture(scope="module")
def evaluated(trained: Trained, tmp_path_factory: pytest.TempPathFactory) -> Evaluated:
    directory = tmp_path_factory.mktemp("evaluate")
    extras = {"eval_gamma": 0.9, "seed_override": 11, "algo_params": {"num_envs": 8}}
    done = start_worker(directory, config=config(trained.model, **extras))
    assert done.returncode == 0, done.stderr
    return Evaluated(directory, done)


def test_a_batch_gives_a_heartbeat_with_its_numbers(evaluated: Evaluated) -> None:
    names = [event["event"] for event in evaluated.events]
    assert names[0] == "run_started"
    assert names[-1] == "run_completed"
    started = evaluated.events[0]["payload"]
    assert (started["mode"], started["seed"]) == ("policy_eval", 11), "seed_override wins"
    assert started["total_timesteps"] is None
    (heartbeat,) = (event for event in evaluated.events if event["event"] == "heartbeat")
    numbers = heartbeat["payload"]["evaluation"]
    summary = evaluated.read("eval_summary.json")
    assert numbers["episodes"] == BATCH
    assert {name: summary[name] for name in numbers} == numbers


def test_the_summary_holds_the_batch_and_every_episode(evaluated: Evaluated) -> None:
    summary = evaluated.read("eval_summary.json")
    returns = sorted(result["return"] for result in summary["results"])
    assert len(returns) == BATCH
    assert summary["batch_index"] == 0
    assert summary["avg_return"] == pytest.approx(sum(returns) / BATCH)
    assert (summary["min_return"], summary["max_return"]) == (returns[0], returns[-1])
    assert summary["median_return"] == pytest.approx((returns[1] + returns[2]) / 2)
    assert summary["std_return"] > 0
    assert summary["avg_discounted_return"] < summary["avg_return"]
    assert summary["duration_sec"] > 0
    assert summary["history"] == []
    assert len({result["seed"] for result in summary["results"]}) == BATCH


def test_the_event_files_hold_episodes_and_batches(evaluated: Evaluated) -> None:
    reader = EventAccumulator(str(evaluated.run_dir / "tensorboard_eval"))
    reader.Reload()
    summary = evaluated.read("eval_summary.json")
    episodes = [(point.step, point.value) for point in reader.Scalars("eval/episodic_return")]
    assert episodes == [(result["episode"], result["return"]) for result in summary["results"]]
    for name in ("avg_return", "min_return", "max_return", "median_return", "std_return"):
        (point,) = reader.Scalars(f"eval/{name}")
        assert (point.step, point.value) == (0, pytest.approx(summary[name]))
    rows = (evaluated.run_dir / "metrics.jsonl").read_text().splitlines()
    assert len(rows) == BATCH + 1


def test_the_manifest_names_the_policy_and_the_folder_that_was_written(
    evaluated: Evaluated, trained: Trained
) -> None:
    manifest = evaluated.read("analytics.json")
    assert manifest == evaluated.events[-1]["payload"]["manifest"]
    assert manifest["mode"] == "policy_eval"
    assert manifest["status"] == "completed"
    folder = manifest["artifacts"]["tensorboard"]["relative_path"]
    assert folder == manifest["tensorboard_dir"] == "tensorboard_eval"
    assert list((evaluated.run_dir / folder).glob("events.out.tfevents.*"))
    assert evaluated.run_dir / manifest["artifacts"]["policy"]["path"] == trained.model
    assert manifest["artifacts"]["videos"]["files"] == []
    mean = evaluated.read("eval_summary.json")["avg_return"]
    assert manifest["metrics"]["final"]["eval/episodic_return"] == mean
    assert not (evaluated.run_dir / "videos").exists()


def test_a_policy_of_the_data_directory_is_named_so_that_it_can_be_moved(tmp_path: Path) -> None:
    paths = VarPaths(tmp_path).run("eval-1", "policy_eval")
    policy = tmp_path / "trainer" / "runs" / "R" / "p.cleanrl_model"
    manifest = RunManifest(parse_config(config(policy, tensorboard_dir=None)), paths)
    document = manifest.document(RunStatus.RUNNING)
    assert document["artifacts"]["policy"]["path"] == "../../runs/R/p.cleanrl_model"
    assert document["tensorboard_dir"] is None


def test_a_dry_run_loads_the_policy_and_writes_nothing(
    trained: Trained, run_worker: RunWorker, tmp_path: Path
) -> None:
    extras = {"algo_params": {"num_envs": 8, "torch_threads": 2}, "eval_repeat": True}
    done = run_worker(
        "--dry-run",
        "--emit-summary",
        "--env-id=CartPole-v0",
        config=config(trained.checkpoint, **extras),
    )
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary["args"] == [
        f"--policy-path={trained.checkpoint}",
        "--env-id=CartPole-v0",
        "--seed=5",
        "--eval-batch-size=4",
        "--eval-repeat",
        "--tensorboard-dir=tensorboard_eval",
        "--no-cuda",
        "--torch-threads=2",
    ]
    assert (summary["module"], summary["callable"]) == ("cleanrl_worker.algorithms.ppo", "policy")
    assert summary["agent"]["architecture"] == "MLPAgent"
    assert summary["agent"]["policy_kind"] == "checkpoint"
    warnings = " ".join(summary["warnings"])
    assert "The policy was trained on CartPole-v1, and is evaluated on CartPole-v0." in warnings
    assert "num_envs: not used" in warnings
    assert [path.name for path in tmp_path.iterdir()] == ["cfg.json"]


def test_batch_follows_batch_until_the_run_is_cancelled(trained: Trained, tmp_path: Path) -> None:
    (tmp_path / "cfg.json").write_text(json.dumps(config(trained.model, eval_repeat=True)))
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
        batches = (event for event in events if event["event"] == "heartbeat")
        indices = [next(batches)["payload"]["evaluation"]["batch_index"] for _ in range(3)]
        (evaluator,) = psutil.Process(worker.pid).children()
        worker.send_signal(signal.SIGTERM)
        names = [event["event"] for event in events]
    assert worker.wait(timeout=30) == 143
    assert wait_until_gone(evaluator.pid)
    assert indices == [0, 1, 2]
    assert names[-1] == "run_cancelled"

    run_dir = tmp_path / "var" / "trainer" / "evals" / CONFIG["run_id"]
    summary = json.loads((run_dir / "eval_summary.json").read_text())
    assert summary["batch_index"] >= 2
    history = [batch["batch_index"] for batch in summary["history"]]
    assert history == list(range(summary["batch_index"]))
    first = summary["batch_index"] * BATCH
    numbers = [result["episode"] for result in summary["results"]]
    assert numbers == list(range(first, first + BATCH)), "episodes are counted over all batches"
    manifest = json.loads((run_dir / "analytics.json").read_text())
    assert manifest["status"] == "cancelled"
    assert manifest["metrics"]["final"]["eval/episodic_return"] == summary["avg_return"]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"extras": {"mode": "policy_eval"}}, "needs extras.policy_path"),
        ({"extras": {"policy_path": "p"}, "total_timesteps": 10}, "extras.policy_path needs"),
        ({"extras": {"mode": "policy_eval", "policy_path": "absent"}}, "does not exist"),
        ({"extras": {"mode": "policy_eval", "policy_path": "p", "gamm": 1}}, "extras.gamm"),
        (
            {"extras": {"mode": "policy_eval", "policy_path": "p", "seed_override": -1}},
            "extras.seed_override=-1",
        ),
    ],
)
def test_what_cannot_be_evaluated_is_one_line_and_leaves_nothing(
    run_worker: RunWorker, tmp_path: Path, change: dict[str, Any], says: str
) -> None:
    (tmp_path / "p").touch()
    done = run_worker(config={**CONFIG, **change})
    assert done.returncode == 2, done.stderr
    (line,) = done.stderr.splitlines()
    assert says in line
    assert json.loads(done.stdout.splitlines()[-1])["event"] == "run_failed"
    assert not (tmp_path / "var").exists()
