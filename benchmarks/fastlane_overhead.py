"""What live frames cost the training that they show: `python benchmarks/fastlane_overhead.py`.

Frames are switched on and off in windows of a second inside one training process, first without a
viewer and then with one, in the order off, on, off, watched. Steps are counted in each window; the
ratio is that of each window with frames to the window before it without. The algorithms are ones
that learn at every step or every few, so that a window is like the next. Printed: the median ratio
with a 95 % interval by bootstrap, the share of the run's processor time that the lane itself
counted, and the frames a second that the viewer got.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from typing import Any

# Environment, algorithm and its flags, and the frames a second that are wanted at least.
CASES: dict[str, tuple[str, str, tuple[str, ...], float]] = {
    "CartPole": ("CartPole-v1", "dqn", ("--learning-starts", "1000"), 20.0),
    "Walker2d": ("Walker2d-v5", "td3_continuous_action", ("--learning-starts", "1000"), 5.0),
    "Atari": (
        "BreakoutNoFrameskip-v4",
        "dqn_atari",
        ("--learning-starts", "1000", "--buffer-size", "20000"),
        25.0,
    ),
}
WANTED = {"on": 0.99, "watched": 0.94}
SHARES = {"on": 0.02, "watched": 0.05}
PHASES = ("off", "on", "off", "watched")
WARM_UP_S = 10.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=60, help="of windows, for each of the two")
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=list(CASES))
    parser.add_argument("--train", help=argparse.SUPPRESS)  # the training process itself
    given = parser.parse_args()
    if given.train:
        return train(given.train, given.pairs)
    return max(measure(name, given.pairs) for name in given.cases)


def measure(name: str, pairs: int) -> int:
    """Train in a process of its own, and look on when it says that it is time."""
    run_id = f"bench-{os.getpid()}-{name.lower()}"
    with tempfile.TemporaryDirectory() as directory:
        environment = {
            **os.environ,
            "MOSAIC_RUN_ID": run_id,
            "OMP_NUM_THREADS": "1",
            "MUJOCO_GL": os.environ.get("MUJOCO_GL", "egl"),
            "SDL_VIDEODRIVER": "dummy",
        }
        process = subprocess.Popen(
            [sys.executable, os.path.abspath(__file__), "--train", name, "--pairs", str(pairs)],
            cwd=directory,
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        viewer = Viewer(run_id)
        assert process.stdout is not None
        windows: list[dict[str, Any]] = []
        for line in process.stdout:
            message = json.loads(line) if line.startswith("{") else {}
            if "phase" in message:
                viewer.look(message["phase"] == "watched")
            elif "windows" in message:
                windows = message["windows"]
        viewer.stop()
        process.wait()
    return report(name, windows, viewer)


class Viewer:
    """Reads frames as fast as a screen shows them, while it is told to look."""

    def __init__(self, run_id: str) -> None:
        self.frames = 0
        self.looked_s = 0.0
        self._run_id = run_id
        self._is_looking = threading.Event()
        self._is_over = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def look(self, is_looking: bool) -> None:
        if is_looking:
            self._is_looking.set()
        else:
            self._is_looking.clear()

    def stop(self) -> None:
        self._is_over = True
        self._is_looking.set()
        self._thread.join()

    def _run(self) -> None:
        from mosaic.fastlane.reader import LaneReader

        while not self._is_over:
            self._is_looking.wait()
            begin = time.monotonic()
            with LaneReader(self._run_id) as reader:
                while self._is_looking.is_set() and not self._is_over:
                    self.frames += reader.read(0) is not None
                    time.sleep(1 / 120)
            self.looked_s += time.monotonic() - begin


def train(name: str, pairs: int) -> int:
    """Train with frames that are switched at the borders of the windows."""
    from cleanrl_worker import launcher
    from cleanrl_worker.envs import watched

    env_id, algo, flags, _ = CASES[name]
    out = os.fdopen(os.dup(1), "w")

    class Alternating(watched.WatchedEnvs):
        """Counts the steps of each window, and shows nothing in every other."""

        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            self._asked = self._show._is_due
            self._number = -1
            self._window_steps = 0
            self._ends_at = time.monotonic() + WARM_UP_S
            self._began = self._cpu = self._spent = 0.0
            self._windows: list[dict[str, Any]] = []

        def step(self, actions: Any) -> Any:
            self._window_steps += 1
            now = time.monotonic()
            if now >= self._ends_at:
                self._turn(now)
            return super().step(actions)

        def _turn(self, now: float) -> None:
            account = self._show._budget.account()
            if self._number >= 0:
                self._windows.append(
                    {
                        "phase": PHASES[self._number % len(PHASES)],
                        "rate": self._window_steps / (now - self._began),
                        "cpu_s": account.run_cpu_s - self._cpu,
                        "spent_s": account.cpu_s - self._spent,
                    }
                )
            self._number += 1
            phase = PHASES[self._number % len(PHASES)]
            if self._number >= pairs * len(PHASES):
                print(json.dumps({"windows": self._windows}), file=out, flush=True)
                out.close()
                os._exit(0)
            print(json.dumps({"phase": phase}), file=out, flush=True)
            self._show._is_due = self._asked if phase != "off" else _never
            self._window_steps, self._began, self._ends_at = 0, now, now + 1.0
            self._cpu, self._spent = account.run_cpu_s, account.cpu_s

    watched.WatchedEnvs = Alternating  # type: ignore[misc]
    budget = ["--env-id", env_id, "--total-timesteps", "100000000", "--no-save-model"]
    return int(launcher.main([algo, *budget, "--seed", "1", *flags]))


def _never() -> bool:
    return False


def report(name: str, windows: Sequence[dict[str, Any]], viewer: Viewer) -> int:
    is_good = bool(windows)
    for phase, wanted in WANTED.items():
        chosen = [
            (later["rate"] / sooner["rate"], later)
            for sooner, later in itertools.pairwise(windows)
            if later["phase"] == phase and sooner["rate"] > 0
        ]
        if not chosen:
            continue
        ratios = [ratio for ratio, _ in chosen]
        median, low, high = interval(ratios)
        share = sum(each["spent_s"] for _, each in chosen) / sum(
            each["cpu_s"] for _, each in chosen
        )
        print(
            f"{name:<9} {phase:<8} {median:.3f} ({low:.3f} to {high:.3f}) of {len(ratios)} pairs, "
            f"{wanted} wanted; the lane counted {share:.1%}, {SHARES[phase]:.0%} allowed"
        )
        is_good = is_good and median >= wanted and share <= SHARES[phase] * 1.1
    rate = viewer.frames / viewer.looked_s if viewer.looked_s else 0.0
    least = CASES[name][3]
    print(f"{name:<9} frames a second while watched: {rate:.1f}, {least:g} wanted", flush=True)
    return 0 if is_good and rate >= least else 1


def interval(values: Sequence[float]) -> tuple[float, float, float]:
    chooser = random.Random(0)
    medians = sorted(statistics.median(chooser.choices(values, k=len(values))) for _ in range(2000))
    return statistics.median(values), medians[50], medians[-51]


if __name__ == "__main__":
    sys.exit(main())
