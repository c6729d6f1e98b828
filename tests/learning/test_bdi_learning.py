"""The BDI agent learns FrozenLake through SPADE and XMPP, killed and resumed on the way."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.solo_workers import Bench

CONFIG: dict[str, Any] = {"algo": "bdi_q_learning", "env_id": "FrozenLake-v1", "seed": 1}
STEPS = 300_000


@pytest.mark.learn
@pytest.mark.timeout(900)
def test_slippery_frozen_lake_killed_and_resumed_once(tmp_path: Path) -> None:
    bench = Bench("spade_bdi_rl_worker.cli", tmp_path)
    path = bench.config("first", **CONFIG, total_timesteps=STEPS)
    process = subprocess.Popen(
        bench.command(path), env=bench.variables, stdout=subprocess.DEVNULL, cwd=tmp_path
    )
    checkpoints = bench.run_dir("first") / "checkpoints"
    while process.poll() is None and len(list(checkpoints.glob("step-*.ckpt"))) < 3:
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL, "it ended before it was killed"
    last = max(checkpoints.glob("step-*.ckpt"), key=lambda each: int(each.name[5:-5]))
    resumed = bench.run(
        "second",
        **CONFIG,
        total_timesteps=STEPS,
        extras={"mode": "resume_training", "checkpoint_path": str(last)},
    )
    assert resumed.code == 0, resumed.stderr
    policy = bench.run_dir("second") / bench.manifest("second")["artifacts"]["policy"]["path"]
    evaluated = bench.run(
        "third",
        **{**CONFIG, "seed": 12345},
        extras={"mode": "policy_eval", "policy_path": str(policy), "eval_batch_size": 500},
    )
    assert evaluated.code == 0, evaluated.stderr
    summary = json.loads((bench.run_dir("third", "evals") / "eval_summary.json").read_text())
    print(f"killed after {last.name}, success {summary['avg_return']:.3f} over 500 episodes")
    assert summary["avg_return"] >= 0.7
