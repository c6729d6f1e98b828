"""`mosaic train --local`: a real worker process, real files, real signals."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.conftest import Mosaic

TOY = ("train", "toy", "--local", "--env-id")


def configs(workplace: Path, kind: str) -> list[dict[str, object]]:
    found = sorted((workplace / "var/trainer/configs").glob(f"{kind}-*.json"))
    return [json.loads(path.read_text()) for path in found]


def test_a_run_is_shown_and_its_files_are_named(mosaic: Mosaic, workplace: Path) -> None:
    done = mosaic(*TOY, "Toy-v0", "--seed", "3")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert lines[0] == "toy on Toy-v0  1,000 steps"
    assert "WARNING: this is only a toy" in lines
    assert re.fullmatch(r"toy on Toy-v0: done after \d+\.\d s, seed 3", lines[2])
    assert "  return       625.0    mean of the last 4 training episodes" in lines
    assert "  evaluation   500.0    mean of 10 greedy episodes" in lines
    assert "  speed        8.13k    environment steps a second" in lines
    [run] = (workplace / "var/trainer/runs").iterdir()
    assert f"  run          var/trainer/runs/{run.name}" in lines
    assert "    model        runs/toy/toy.cleanrl_model" in lines
    assert done.stderr == ""


def test_both_configs_are_kept(mosaic: Mosaic, workplace: Path) -> None:
    words = ("--seed", "3", "--learning-rate", "0.1", "--no-anneal-lr", "--target-kl=None")
    assert mosaic(*TOY, "Toy-v0", *words, "--fastlane-video-mode", "grid").returncode == 0
    [worker] = configs(workplace, "worker")
    assert worker["algo"] == "toy"
    assert worker["seed"] == 3
    assert worker["total_timesteps"] == 1000
    assert worker["extras"] == {
        "fastlane_video_mode": "grid",
        "tensorboard_dir": "tensorboard",
        "algo_params": {"learning_rate": 0.1, "anneal_lr": False, "target_kl": None},
    }
    [submitted] = configs(workplace, "config")
    assert submitted["metadata"]["worker"]["config"] == worker  # type: ignore[index]
    assert submitted["resources"]["memory_mb"] == 64  # type: ignore[index]


def test_json_is_one_object_and_nothing_else(mosaic: Mosaic, workplace: Path) -> None:
    done = mosaic(*TOY, "Toy-v0", "--json")
    document = json.loads(done.stdout)
    assert document["status"] == "completed"
    assert document["return_code"] == 0
    assert document["metrics"]["final"] == {"eval/episodic_return": 500.0}
    assert Path(document["run_dir"]).name == document["run_id"]
    assert Path(document["run_dir"]).is_dir()


def test_tuned_values_fill_in_and_flags_win(mosaic: Mosaic, workplace: Path) -> None:
    assert mosaic(*TOY, "Toy-v0", "--tuned", "--num_envs", "8", "--json").returncode == 0
    [worker] = configs(workplace, "worker")
    assert worker["total_timesteps"] == 640
    assert worker["extras"]["algo_params"] == {"learning_rate": 0.5, "num_envs": 8}  # type: ignore[index]


def test_seeds_run_one_after_the_other(mosaic: Mosaic, workplace: Path) -> None:
    done = mosaic(*TOY, "Toy-v0", "--seeds", "1,2,3")
    assert done.returncode == 0
    table = done.stdout.splitlines()[-5:]
    assert table[0] == "toy on Toy-v0, 3 seeds"
    assert [row.split()[0] for row in table[2:]] == ["1", "2", "3"]
    names = sorted((workplace / "var/trainer/configs").glob("worker-*"))
    assert [path.stem.rsplit("-", 1)[1] for path in names] == ["0", "1", "2"]
    document = json.loads(mosaic(*TOY, "Toy-v0", "--seeds", "1,2", "--json").stdout)
    assert [run["status"] for run in document["runs"]] == ["completed", "completed"]


@pytest.mark.parametrize(
    ("env_id", "code", "line"),
    [
        ("Refuse-v0", 2, "num_minibatches=6 does not divide batch_size=512. Use 4 or 8."),
        ("Missing-v0", 3, "Missing-v0 needs a package. Install 'mosaic-rl[toys]'."),
    ],
)
@pytest.mark.parametrize("switch", [(), ("--validate",)])
def test_a_refusal_is_one_line_and_leaves_nothing(
    mosaic: Mosaic, workplace: Path, env_id: str, code: int, line: str, switch: tuple[str, ...]
) -> None:
    done = mosaic(*TOY, env_id, *switch)
    assert done.returncode == code
    assert done.stderr == f"mosaic: {line}\n"
    assert list(workplace.iterdir()) == []


def test_validate_shows_what_the_dry_run_found(mosaic: Mosaic) -> None:
    done = mosaic(*TOY, "Toy-v0", "--validate")
    assert done.returncode == 0
    assert "dry run passed" in done.stdout
    assert "  agent        1,234 parameters, MLP" in done.stdout
    assert "  warning      Toy-v0 is only a toy." in done.stdout
    assert "done after" in done.stdout


def test_a_crash_is_told_with_the_log(mosaic: Mosaic) -> None:
    done = mosaic(*TOY, "Crash-v0")
    assert done.returncode == 1
    lines = done.stderr.splitlines()
    assert "failed after" in lines[0]
    assert lines[1] == "boom"
    assert "  | RuntimeError: boom" in lines
    assert "    logs         logs/cleanrl.stderr.log" in lines


def test_a_worker_that_was_killed_says_by_what(mosaic: Mosaic) -> None:
    done = mosaic(*TOY, "Killed-v0")
    assert done.returncode == 137
    assert "The worker was killed by SIGKILL." in done.stderr


@pytest.mark.parametrize(
    ("words", "code", "line"),
    [
        (("toyy", "--env-id", "T"), 2, "algo='toyy' is unknown. Did you mean 'toy'?"),
        (("toy", "--learning-rat", "1", "--env-id", "T"), 2, "Did you mean '--learning-rate'?"),
        (("toy", "--no-aneal-lr", "--env-id", "T"), 2, "Did you mean '--no-anneal-lr'?"),
        (("toy", "--learning-rate", "x", "--env-id", "T"), 2, "give a number from 0 to 1"),
        (("toy", "--num-envs", "0", "--env-id", "T"), 2, "num_envs=0 is not allowed"),
        (("toy", "--total-timesteps", "0", "--env-id", "T"), 2, "total_timesteps=0 is not allowed"),
        (("toy", "--local"), 2, "--env-id is missing"),
        (("--env-id", "T"), 2, "name the algorithm first"),
        (("toy", "--env-id", "T", "extra"), 2, "does not understand 'extra'"),
        (("toy", "--env-id", "T", "--seeds", "1,x"), 2, "seeds='1,x' is not allowed"),
        (("toy", "--env-id", "T", "--seeds", "1", "--seed", "1"), 2, "contradict each other"),
        (("toy", "--env-id", "Other-v0", "--tuned"), 2, "no tuned values for 'Other-v0'"),
        (("toy", "--env-id", "T", "--mode", "trian"), 2, "mode='trian' is not allowed"),
        (("toy", "--env-id", "T", "--algo-params", "{"), 2, "extras.algo_params is not JSON"),
        (("toy", "--env-id", "T", "--algo-params", '{"gama": 1}'), 2, "no parameter 'gama'"),
        (("toy", "--env-id", "T", "--wandb-api-key", "k"), 2, "Set WANDB_API_KEY"),
        (
            ("toy", "--env-id", "T", "--wandb-https-proxy", "http://u:p@h:1"),
            2,
            "--wandb-https-proxy holds a password, and other users can read a command line.",
        ),
        (("toy", "--env-id", "my:T", "--local"), 2, "Add 'my' to env_modules under [allow]"),
        (("toy", "--env-id", "T", "--local", "--detach"), 2, "contradict each other"),
        (("toy", "--env-id", "T", "--local", "--cpus", "2"), 2, "leave out --cpus or --local"),
        (("toy", "--env-id", "T", "--gpus", "-1"), 2, "gpus=-1 is not allowed"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(
    toy_worker: None,
    workplace: Path,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    code: int,
    line: str,
) -> None:
    from mosaic.cli.main import main

    assert main(["train", *words]) == code
    shown = capsys.readouterr().err
    assert line in shown
    assert shown.count("\n") == 1
    assert shown.startswith("mosaic: ")
    assert list(workplace.iterdir()) == []


def test_an_unwritable_directory_is_named(mosaic: Mosaic, workplace: Path) -> None:
    (workplace / "file").touch()
    done = mosaic(*TOY, "Toy-v0", MOSAIC_VAR_DIR=str(workplace / "file" / "var"))
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "cannot be written" in done.stderr
    assert "MOSAIC_VAR_DIR" in done.stderr


def test_a_secret_reaches_the_worker_and_no_file(mosaic: Mosaic, workplace: Path) -> None:
    (workplace / ".env").write_text("WANDB_API_KEY=c4n4ry\n")
    done = mosaic(*TOY, "Toy-v0", "--json")
    told = Path(json.loads(done.stdout)["run_dir"]) / "metrics.jsonl"
    assert told.read_text() == "c4n4ry"
    told.unlink()
    files = [path for path in (workplace / "var").rglob("*") if path.is_file()]
    assert not [path for path in files if b"c4n4ry" in path.read_bytes()]


def start(*words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "mosaic.cli", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_until_training(workplace: Path) -> None:
    deadline = time.monotonic() + 30
    while not list(workplace.glob("var/trainer/runs/*/waiting")):
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.usefixtures("toy_worker")
def test_ctrl_c_reaches_the_worker_once_and_shows_what_was_kept(workplace: Path) -> None:
    process = start(*TOY, "Slow-v0")
    wait_until_training(workplace)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=30)
    assert process.returncode == 130  # 99 had it reached the worker twice
    assert "Stopping. Press Ctrl-C again to kill the run." in out
    assert re.search(r"stopped after .* s, 1,000 of 1,000 steps", out)
    assert "    logs         logs" in out
    assert configs(workplace, "worker")


@pytest.mark.usefixtures("toy_worker")
def test_a_second_ctrl_c_kills(workplace: Path) -> None:
    process = start(*TOY, "Stubborn-v0")
    wait_until_training(workplace)
    process.send_signal(signal.SIGINT)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == 137


@pytest.mark.usefixtures("toy_worker")
def test_when_nobody_reads_the_progress_the_run_is_stopped(workplace: Path) -> None:
    process = start(*TOY, "Stubborn-v0")
    assert process.stdout is not None
    process.stdout.close()
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 141
    assert errors == ""
