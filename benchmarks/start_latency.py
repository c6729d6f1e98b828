"""From the command to the first environment step: through the daemon, and the process alone.

    python benchmarks/start_latency.py [--rounds 10]

Both sides run the same PPO on the same environment, which notes the time of its first step. They
take turns; the median of each, and of the differences of neighbours, is printed. "Alone" is the
algorithm's own process, `python -m cleanrl_worker.launcher`; "detached" begins at the start of
`mosaic train --detach`, with the daemon running.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SITE = Path(__file__).resolve().parent / "site"
ENV_ID = "first_step_env:FirstStep-v0"
VARIABLE = "MOSAIC_BENCH_FIRST_STEP"
FLAGS = ["--env-id", ENV_ID, "--total-timesteps", "512", "--seed", "1"]
LIMIT_S = 0.8
TIMEOUT_S = 60.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=10)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as directory:
        var = Path(directory) / "var"
        note = Path(directory) / "first-step"
        var.mkdir()
        (var / "mosaic.toml").write_text('[allow]\nenv_modules = ["first_step_env"]\n')
        os.environ |= {
            "MOSAIC_VAR_DIR": str(var),
            "PYTHONPATH": os.pathsep.join(filter(None, [str(SITE), os.environ.get("PYTHONPATH")])),
            VARIABLE: str(note),
            "OMP_NUM_THREADS": "1",
        }
        os.chdir(directory)
        mosaic("daemon", "start")
        try:
            pairs = [(alone(note), detached(note)) for _ in range(rounds + 1)][1:]
        finally:
            mosaic("daemon", "stop")
    return report(pairs)


def mosaic(*words: str) -> str:
    command = [sys.executable, "-m", "mosaic.cli", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def alone(note: Path) -> float:
    begin = time.time()
    command = [sys.executable, "-m", "cleanrl_worker.launcher", "ppo", *FLAGS]
    with tempfile.TemporaryDirectory() as directory:
        process = subprocess.Popen(
            command, cwd=directory, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        taken = first_step(note) - begin
        process.wait()
    return taken


def detached(note: Path) -> float:
    begin = time.time()
    run_id = json.loads(mosaic("train", "ppo", *FLAGS, "--detach", "--json"))["run_id"]
    taken = first_step(note) - begin
    while json.loads(mosaic("show", run_id, "--json"))["state"] not in ("TERMINATED", "FAULTED"):
        time.sleep(0.2)
    return taken


def first_step(note: Path) -> float:
    deadline = time.time() + TIMEOUT_S
    while not note.exists() or not note.read_text():
        assert time.time() < deadline, "the first step never came"
        time.sleep(0.005)
    text = note.read_text()
    note.unlink()
    return float(text)


def report(pairs: list[tuple[float, float]]) -> int:
    for name, values in zip(("alone", "detached"), zip(*pairs, strict=True), strict=True):
        print(
            f"{name:<9} median {statistics.median(values):.2f} s, {min(values):.2f} to "
            f"{max(values):.2f} s"
        )
    more = statistics.median(later - sooner for sooner, later in pairs)
    print(f"more      median {more:.2f} s of {len(pairs)} pairs; at most {LIMIT_S} s wanted")
    return 0 if more <= LIMIT_S else 1


if __name__ == "__main__":
    sys.exit(main())
