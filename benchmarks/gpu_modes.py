"""Steps a second on a GPU: eager, compiled, as CUDA graphs, both, and CleanRL's own script.

    python benchmarks/gpu_modes.py [--cleanrl-home PATH --cleanrl-python PATH]
        [--algo ppo_atari ...] [--modes eager compile ...] [--rounds K] [--threads N]

All runs of an algorithm stand next to each other, round by round, one at a time. What is timed is
what `throughput.py` times: the second half of the learning phase, by which compiling is over.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import torch
from comparison.measuring import NotMeasured, shared_settings, steps_per_second
from comparison.report import machine
from comparison.rows import ROWS, Row
from comparison.sides import CleanRL, Ours, Side, record

from mosaic.contracts.errors import EXIT_OK, ConfigError, MosaicError

# So many that the second half of the learning phase lasts for seconds, on the slowest side.
STEPS = {
    "sac_continuous_action": 2_500,
    "td3_continuous_action": 2_500,
    "ppo_continuous_action": 8_192,
    "ppo_atari": 8_192,
    "dqn_atari": 3_000,
}
MODES: Mapping[str, Mapping[str, Any]] = {
    "eager": {},
    "compile": {"compile": True},
    "cudagraphs": {"cudagraphs": True},
    "both": {"compile": True, "cudagraphs": True},
}


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    if not torch.cuda.is_available():
        print("torch sees no GPU here: nothing is measured.")
        return EXIT_OK
    try:
        sides = find_sides(options)
        rows = [replace(ROWS[algo], steps=options.steps or STEPS[algo]) for algo in options.algo]
        for row in rows:
            for side in sides:
                side.check(row)
        print(f"{torch.cuda.get_device_name()}, {machine()}, torch {torch.__version__}\n")
        print(f"| algorithm | environment | {' | '.join(side.name for side in sides)} |")
        print("|---" * (2 + len(sides)) + "|")
        for row in rows:
            print(measure(row, sides, options.rounds), flush=True)
    except MosaicError as error:
        print(error.one_line(), file=sys.stderr)
        return error.exit_code
    return EXIT_OK


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cleanrl-home", default=os.environ.get("CLEANRL_HOME"))
    parser.add_argument("--cleanrl-python", default=os.environ.get("CLEANRL_PYTHON"))
    parser.add_argument("--algo", nargs="+", choices=STEPS, default=list(STEPS))
    parser.add_argument("--modes", nargs="+", choices=MODES, default=list(MODES))
    parser.add_argument("--steps", type=int, help="steps of a run; default: the algorithm's own")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1)
    return parser


def find_sides(options: argparse.Namespace) -> list[Side]:
    """Return our side in each mode, and the user's CleanRL where it was named."""
    sides: list[Side] = [
        Ours(options.threads, name, cuda=True, **MODES[name]) for name in options.modes
    ]
    home, python = options.cleanrl_home, options.cleanrl_python
    if bool(home) != bool(python):
        raise ConfigError("Give both --cleanrl-home and --cleanrl-python, or neither.")
    if home:
        sides.append(CleanRL(Path(home), Path(python), options.threads, cuda=True))
    return sides


def measure(row: Row, sides: Sequence[Side], rounds: int) -> str:
    """Run the sides in turn, round by round, and return a row of the table."""
    speeds: dict[str, list[float]] = {side.name: [] for side in sides}
    for number in range(1, rounds + 1):
        settings: Mapping[str, str] = {}
        for side in sides:
            try:
                recording = record(side, row, row.steps, seed=number)
                found = steps_per_second(recording.points, row.window_start(row.steps))
            except NotMeasured as error:
                print(error.one_line(), file=sys.stderr, flush=True)
                continue
            shared_settings(settings or recording.settings, recording.settings)
            settings = recording.settings
            speeds[side.name].append(found)
            told = f"{row.algo} round {number} {side.name}: {found:,.0f} steps/s"
            print(told, file=sys.stderr, flush=True)
    cells = " | ".join(_cell(found, rounds) for found in speeds.values())
    return f"| {row.algo} | {row.env_id} | {cells} |"


def _cell(found: Sequence[float], rounds: int) -> str:
    if len(found) < rounds:
        return "failed"
    if rounds == 1:
        return f"{found[0]:,.0f}"
    return f"{median(found):,.0f} ({min(found):,.0f} to {max(found):,.0f})"


if __name__ == "__main__":
    sys.exit(main())
