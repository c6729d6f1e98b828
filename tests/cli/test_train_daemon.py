"""`mosaic train` with a daemon: what is submitted, what is shown, and how it is left."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mosaic.cli.main import main
from mosaic.contracts.events import Event
from tests.client.toy_daemon import ToyDaemon

TOY = ("train", "toy", "--env-id", "Toy-v0")


def when_submitted(daemon: ToyDaemon, act: Callable[[str], None], count: int = 1) -> None:
    """Do something to the runs once they are there."""

    def wait() -> None:
        while len(daemon.configs) < count:
            time.sleep(0.01)
        for run_id in list(daemon.configs):
            act(run_id)

    threading.Thread(target=wait, daemon=True).start()


def train(daemon: ToyDaemon, run_id: str, outcome: str = "succeeded", **fields: Any) -> None:
    """Go through the life of a run."""
    daemon.change(run_id, state="EXECUTING", started_at=time.time(), step=500)
    daemon.returns[run_id] = [float("nan"), 100.0, 200.0]
    kind = {"succeeded": "run_completed", "cancelled": "run_cancelled"}.get(outcome, "run_failed")
    manifest = {"seed": 3, "metrics": {"final": {"eval/episodic_return": 321.0}}}
    payload = {"manifest": manifest, "error": "boom", "stderr_tail": ["RuntimeError: boom"]}
    daemon.events[run_id] = ["garbage", Event(kind, run_id, payload, 0.0).to_line()]
    daemon.end(run_id, outcome, **({"step": 1000} | fields))


def submitted(daemon: ToyDaemon) -> dict[str, Any]:
    [document] = daemon.configs.values()
    return document


def test_detach_submits_and_returns(daemon: ToyDaemon, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*TOY, "--seed", "3", "--no-anneal-lr", "--detach", "--json"]) == 0
    [run_id] = daemon.runs
    document = json.loads(capsys.readouterr().out)
    assert document["run_id"] == run_id
    assert document["state"] == "INIT"
    config = submitted(daemon)["metadata"]["worker"]["config"]
    assert "run_id" not in config
    assert (config["algo"], config["seed"], config["total_timesteps"]) == ("toy", 3, 1000)
    assert config["extras"]["algo_params"] == {"anneal_lr": False}
    assert main([*TOY, "--detach"]) == 0
    assert capsys.readouterr().out.endswith("  toy on Toy-v0\n")


def test_a_key_that_was_used_says_so(daemon: ToyDaemon, capsys: pytest.CaptureFixture[str]) -> None:
    words = [*TOY, "--idempotency-key", "k", "--detach"]
    assert main(words) == 0
    first = capsys.readouterr().out
    assert main(words) == 0
    again = capsys.readouterr().out
    assert again == first.strip() + ": was submitted before, with the same key\n"
    assert main([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["is_new"] is False
    assert len(daemon.runs) == 1


def test_flags_for_the_daemon_reach_it(daemon: ToyDaemon) -> None:
    words = "--run-name mine --cpus 2 --memory-mb 99 --gpus 1 --max-steps 5 --idempotency-key k"
    assert main([*TOY, "--detach", *words.split(), "--max-duration-seconds", "1.5"]) == 0
    document = submitted(daemon)
    assert (document["run_name"], document["idempotency_key"]) == ("mine", "k")
    gpus = {"requested": 1, "mandatory": True}
    assert document["resources"] == {"memory_mb": 99, "cpus": 2, "gpus": gpus}
    assert document["schedule"] == {"max_duration_seconds": 1.5, "max_steps": 5}


def test_every_seed_is_a_run_with_names_of_its_own(daemon: ToyDaemon) -> None:
    assert (
        main([*TOY, "--seeds", "1,2", "--run-name", "n", "--idempotency-key", "k", "--detach"]) == 0
    )
    documents = list(daemon.configs.values())
    assert [(each["run_name"], each["idempotency_key"]) for each in documents] == [
        ("n-1", "k-1"),
        ("n-2", "k-2"),
    ]


def test_paths_variables_and_secrets_of_this_shell_go_along(
    daemon: ToyDaemon, workplace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MUJOCO_GL", "osmesa")
    monkeypatch.setenv("HTTPS_PROXY", "http://user:password@proxy")
    monkeypatch.setenv("WANDB_API_KEY", "c4n4ry")
    words = ["--mode", "resume_training", "--checkpoint-path", "old/step-1.ckpt"]
    assert main([*TOY, "--detach", *words]) == 0
    document = submitted(daemon)
    extras = document["metadata"]["worker"]["config"]["extras"]
    assert extras["checkpoint_path"] == str(workplace / "old" / "step-1.ckpt")
    assert document["environment"]["MUJOCO_GL"] == "osmesa"
    assert "HTTPS_PROXY" not in document["environment"]
    assert list(daemon.secrets.values()) == [{"WANDB_API_KEY": "c4n4ry"}]
    assert "c4n4ry" not in json.dumps(document)


def test_a_run_is_followed_to_its_end(
    daemon: ToyDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    when_submitted(daemon, lambda run_id: train(daemon, run_id))
    assert main([*TOY, "--seed", "3"]) == 0
    shown = capsys.readouterr()
    lines = shown.out.splitlines()
    assert lines[:2] == ["toy on Toy-v0  1,000 steps", "WARNING: this is only a toy"]
    assert re.fullmatch(r"toy on Toy-v0: done after \d+\.\d s, seed 3", lines[2])
    assert "  return       150.0    mean of the last 2 training episodes" in lines
    assert "  evaluation   321.0    mean of 10 greedy episodes" in lines
    assert shown.err == ""


def test_json_waits_for_the_end_and_is_one_object(
    daemon: ToyDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    when_submitted(daemon, lambda run_id: train(daemon, run_id))
    assert main([*TOY, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["status"], document["return_code"]) == ("completed", 0)
    assert (document["state"], document["outcome"]) == ("TERMINATED", "succeeded")
    assert document["metrics"]["final"] == {"eval/episodic_return": 321.0}


@pytest.mark.parametrize(
    ("fields", "code"),
    [({"exit_code": 7}, 7), ({"signal": 9}, 137), ({}, 1), ({"exit_code": 0}, 1)],
)
def test_the_exit_code_is_the_workers(
    daemon: ToyDaemon, capsys: pytest.CaptureFixture[str], fields: dict[str, int], code: int
) -> None:
    when_submitted(daemon, lambda run_id: train(daemon, run_id, "failed", **fields))
    assert main([*TOY]) == code
    lines = capsys.readouterr().err.splitlines()
    assert re.fullmatch(r"toy on Toy-v0: failed after .*, 1,000 of 1,000 steps", lines[0])
    assert lines[1] == "boom"
    assert "  | RuntimeError: boom" in lines


def test_a_run_that_is_lost_says_why(daemon: ToyDaemon, capsys: pytest.CaptureFixture[str]) -> None:
    why = "No sign of the worker for 90 s."

    def lose(run_id: str) -> None:
        daemon.end(run_id, "failed", state="FAULTED", reason=why)

    when_submitted(daemon, lose)
    assert main([*TOY]) == 1
    assert why in capsys.readouterr().err


def test_a_cancelled_run_ends_with_143(
    daemon: ToyDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    when_submitted(daemon, lambda run_id: train(daemon, run_id, "cancelled", step=600))
    assert main([*TOY]) == 143
    assert ", 600 of 1,000 steps" in capsys.readouterr().out


def test_a_refusal_is_one_line(daemon: ToyDaemon, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "toy", "--env-id", "Refuse-v0"]) == 2
    assert capsys.readouterr() == ("", "mosaic: env_id='Refuse-v0' is refused. Try Toy-v0.\n")

    def refuse(run_id: str) -> None:
        daemon.end(run_id, "failed", exit_code=3, reason="Toy-v0 needs a package.")

    when_submitted(daemon, refuse)
    assert main([*TOY]) == 3
    line = "mosaic: Toy-v0 needs a package.\n"
    assert capsys.readouterr() == ("toy on Toy-v0  1,000 steps\n", line)


def test_several_seeds_end_with_a_table(
    daemon: ToyDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    when_submitted(daemon, lambda run_id: train(daemon, run_id), count=2)
    assert main([*TOY, "--seeds", "1,2"]) == 0
    table = capsys.readouterr().out.splitlines()[-4:]
    assert table[0] == "toy on Toy-v0, 2 seeds"
    assert [row.split() for row in table[2:]] == [
        ["1", "completed", "150.0", "321.0"],
        ["2", "completed", "150.0", "321.0"],
    ]


def test_ctrl_c_leaves_the_run_alone(daemon: ToyDaemon) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "mosaic.cli", *TOY],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "toy on Toy-v0  1,000 steps\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    [run] = daemon.runs.values()
    assert process.returncode == 130
    assert out.splitlines() == [
        f"The run goes on. To see more: mosaic watch {run.run_id}",
        f"To end: mosaic cancel {run.run_id}",
    ]
    assert err == ""
    assert run.outcome == ""


def test_submitting_imports_nothing_heavy(daemon: ToyDaemon) -> None:
    code = (
        "import sys; from mosaic.cli.main import main;"
        f"main({[*TOY, '--detach', '--json']!r});"
        "heavy = {'torch', 'rich', 'pydantic', 'numpy', 'psutil', 'ulid'} & set(sys.modules);"
        "sys.exit(', '.join(heavy) or 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=30, stdout=subprocess.DEVNULL)
    for words in (["ps"], ["show", next(iter(daemon.runs))]):
        other = code.replace(repr([*TOY, "--detach", "--json"]), repr(words))
        subprocess.run([sys.executable, "-c", other], check=True, timeout=30, capture_output=True)
