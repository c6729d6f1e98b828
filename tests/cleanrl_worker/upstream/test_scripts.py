"""A script of a checkout, run by the worker as it is: events, files, frames, and its end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from mosaic.fastlane.reader import LaneReader
from tests.cleanrl_worker.conftest import SOURCE

RUN = "run-of-a-script"


def config(home: Path, **changes: Any) -> dict[str, Any]:
    extras = {"cleanrl_home": str(home), **changes.pop("extras", {})}
    return {
        "run_id": RUN,
        "algo": "cleanrl:tiny",
        "env_id": "CartPole-v1",
        "total_timesteps": 2000,
        "seed": 3,
        "extras": extras,
        **changes,
    }


def start(document: dict[str, Any], var_dir: Path, *flags: str, **more: str) -> Any:
    path = var_dir / "cfg.json"
    path.write_text(json.dumps(document))
    return subprocess.Popen(
        [sys.executable, "-m", "cleanrl_worker.cli", "--config", str(path), *flags],
        env={**os.environ, "PYTHONPATH": SOURCE, **more},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_script_runs_as_it_is_and_its_checkout_stays_as_it_was(
    checkout: Path, var_dir: Path, tmp_path: Path
) -> None:
    before = files_of(checkout)
    user = tmp_path / "user"
    user.mkdir()
    (user / "sitecustomize.py").write_text(
        "import os, pathlib\npathlib.Path(os.environ['MARK']).write_text('was here')\n"
    )
    mark = tmp_path / "mark"
    extras = {"save_model": True, "num_steps": 20}
    out, err = start(
        config(checkout, extras=extras),
        var_dir,
        PYTHONPATH=os.pathsep.join([SOURCE, str(user)]),
        MARK=str(mark),
    ).communicate(timeout=100)
    events = [json.loads(line) for line in out.splitlines()]
    names = [event["event"] for event in events]
    run_dir = var_dir / "trainer" / "runs" / RUN
    assert names[0] == "run_started"
    assert names[-1] == "run_completed", err
    assert files_of(checkout) == before
    assert mark.read_text() == "was here"

    points = [
        point
        for event in events
        if event["event"] == "metric"
        for point in event["payload"]["points"].get("charts/learning_rate", ())
    ]
    assert points == [[step, 2.5e-4] for step in range(40, 2001, 40)]
    lines = (run_dir / "metrics.jsonl").read_text().splitlines()
    assert len(lines) == 100
    assert list((run_dir / "tensorboard").glob("events.out.tfevents.*"))

    manifest = json.loads((run_dir / "analytics.json").read_text())
    assert manifest["status"] == "completed"
    assert manifest["requirements"]["bundle"] == "cleanrl"
    assert manifest["requirements"]["packages"]["gymnasium"] == "0.29.1"
    assert manifest["artifacts"]["policy"]["path"].endswith("tiny.cleanrl_model")
    assert events[0]["payload"]["module"] == "cleanrl/tiny.py"


def test_frames_come_while_it_trains_and_it_can_be_stopped(checkout: Path, var_dir: Path) -> None:
    document = config(checkout, total_timesteps=10**6, extras={"pause_s": 0.01})
    process = start(document, var_dir)
    frame = None
    until = time.monotonic() + 90
    while frame is None and time.monotonic() < until:
        time.sleep(0.1)
        with LaneReader(RUN) as reader:
            frame = reader.read()
    assert frame is not None
    assert frame.pixels.shape[2] == 3
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 143, err
    assert json.loads(out.splitlines()[-1])["event"] == "run_cancelled"


def test_a_dry_run_lets_the_script_take_one_step_and_leaves_nothing(
    checkout: Path, var_dir: Path
) -> None:
    process = start(config(checkout), var_dir, "--dry-run", "--emit-summary")
    out, err = process.communicate(timeout=100)
    assert process.returncode == 0, err
    summary = json.loads(out)
    assert summary["module"] == "cleanrl/tiny.py"
    assert "--no-cuda" in summary["args"]
    assert summary["agent"] == {"architecture": "Linear", "parameters": 10}
    assert summary["env"]["action_space"] == "Discrete(2)"
    assert not (var_dir / "trainer" / "runs").exists()
