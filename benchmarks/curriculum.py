"""DoorKey-8x8 after its smaller relatives, and alone, at one budget.

    python benchmarks/curriculum.py DIR [--seeds 1,2,3] [--ways alone] [--picture FILE.svg]

Trains each way with each seed, as runs of the worker under DIR, evaluates 100 episodes of each, and
prints the table. What has been done already is not done again. `docs/benchmarks/curriculum.md` has
the figures.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mosaic.contracts.paths import VarPaths

GOAL = "MiniGrid-DoorKey-8x8-v0"
SCHEDULE = [
    {"env_id": "MiniGrid-DoorKey-5x5-v0", "until": "episode_return>=0.8"},
    {"env_id": "MiniGrid-DoorKey-6x6-v0", "until": "episode_return>=0.8"},
    {"env_id": GOAL},
]
BUDGET = 80_000
SETTINGS = {"num_envs": 16, "learning_rate": 0.0005}
EPISODES = 100
EVALUATION_SEED = 1000
WAYS: dict[str, dict[str, Any]] = {"curriculum": {"curriculum_schedule": SCHEDULE}, "alone": {}}
COLOURS = {"curriculum": "#1f77b4", "alone": "#d95f02"}

_WINDOW = 50  # episodes in a point of a curve
_WIDTH, _HEIGHT, _LEFT, _TOP = 520, 220, 50, 20


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--picture", type=Path, metavar="FILE.svg")
    given = parser.parse_args(arguments)
    runs = [(way, int(seed)) for seed in given.seeds.split(",") for way in given.ways.split(",")]
    for way, seed in runs:
        train(given.directory, way, seed)
        evaluate(given.directory, way, seed)
    print(table(given.directory, runs))
    if given.picture is not None:
        given.picture.write_text(picture(given.directory, runs))


def train(directory: Path, way: str, seed: int) -> None:
    paths = VarPaths(directory).run(f"{way}-{seed}")
    if _policy(paths.root) is None:
        extras = {"algo_params": SETTINGS, "fastlane_video_mode": "off", **WAYS[way]}
        _run_worker(directory, f"{way}-{seed}", seed, extras)


def evaluate(directory: Path, way: str, seed: int) -> None:
    run_id = f"{way}-{seed}-eval"
    if not VarPaths(directory).run(run_id, "policy_eval").evaluation_summary.exists():
        extras = {
            "mode": "policy_eval",
            "policy_path": str(_policy(VarPaths(directory).run(f"{way}-{seed}").root)),
            "eval_batch_size": EPISODES,
            # As it was trained: the most probable action alone walks in circles on a grid, since
            # the policy sees 7x7 cells and remembers nothing.
            "eval_deterministic": False,
            "fastlane_video_mode": "off",
        }
        _run_worker(directory, run_id, EVALUATION_SEED + seed, extras)


def _policy(run_dir: Path) -> Path | None:
    return next(iter(run_dir.glob("runs/*/*.cleanrl_model")), None)


def _run_worker(directory: Path, run_id: str, seed: int, extras: dict[str, Any]) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    config = {
        "run_id": run_id,
        "algo": "ppo",
        "env_id": GOAL,
        "total_timesteps": BUDGET,
        "seed": seed,
        "extras": extras,
    }
    file = directory / f"{run_id}.json"
    file.write_text(json.dumps(config))
    subprocess.run(
        [sys.executable, "-m", "cleanrl_worker.cli", "--config", str(file)],
        env={**os.environ, "MOSAIC_VAR_DIR": str(directory.absolute())},
        stdout=subprocess.DEVNULL,
        check=True,
    )


def table(directory: Path, runs: Sequence[tuple[str, int]]) -> str:
    lines = ["| way | seed | success | mean return | stages began at | steps/s |", "|" + "---|" * 6]
    for way, seed in runs:
        var = VarPaths(directory)
        summary = json.loads(
            var.run(f"{way}-{seed}-eval", "policy_eval").evaluation_summary.read_text()
        )
        manifest = json.loads(var.run(f"{way}-{seed}").manifest.read_text())
        switches = (manifest["curriculum"] or {}).get("switches", [])
        # The reward of DoorKey is positive exactly where the goal was reached.
        success = sum(result["return"] > 0 for result in summary["results"]) / summary["episodes"]
        began = ", ".join(f"{switch['step']:,}" for switch in switches) or "–"
        speed = manifest["resources"]["steps_per_second"]
        lines.append(
            f"| {way} | {seed} | {success:.2f} | {summary['avg_return']:.3f} | {began} | "
            f"{speed:.0f} |"
        )
    return "\n".join(lines)


def curve(directory: Path, way: str, seed: int) -> list[tuple[int, float]]:
    """Return the mean return of the last training episodes, by step."""
    points, returns = [], []
    with VarPaths(directory).run(f"{way}-{seed}").metrics.open() as rows:
        for row in map(json.loads, rows):
            value = row["values"].get("charts/episodic_return")
            if value is not None:
                returns.append(value)
                recent = returns[-_WINDOW:]
                points.append((row["step"], sum(recent) / len(recent)))
    return points


def picture(directory: Path, runs: Sequence[tuple[str, int]]) -> str:
    """Draw a line for each run; of a curriculum it is of the stage that is being trained."""
    right, bottom = _LEFT + _WIDTH, _TOP + _HEIGHT
    size = f'viewBox="0 0 {right + 20} {bottom + 30}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="11">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<path d="M{_LEFT} {_TOP}V{bottom}H{right}" fill="none" stroke="#888"/>',
        f'<text x="{_LEFT - 5}" y="{bottom}" text-anchor="end">0</text>',
        f'<text x="{_LEFT - 5}" y="{_TOP + 8}" text-anchor="end">1</text>',
        f'<text x="{right}" y="{bottom + 15}" text-anchor="end">{BUDGET:,} steps</text>',
    ]
    for place, (way, colour) in enumerate(COLOURS.items()):
        text = f'<text x="{_LEFT + 8}" y="{_TOP + 14 * (place + 1)}" fill="{colour}">{way}</text>'
        parts.append(text)
    for way, seed in runs:
        points = curve(directory, way, seed)
        drawn = " ".join(
            f"{_LEFT + step / BUDGET * _WIDTH:.0f},{bottom - value * _HEIGHT:.0f}"
            for step, value in points[:: max(1, len(points) // 150)]
        )
        parts.append(f'<polyline points="{drawn}" fill="none" stroke="{COLOURS[way]}"/>')
    return "\n".join([*parts, "</svg>\n"])


if __name__ == "__main__":
    main()
