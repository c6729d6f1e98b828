"""Training returns of our runs and of CleanRL's at equal steps, as a table and as a picture.

    python benchmarks/comparison/curves.py FOLDER [--every STEPS] [--picture FILE.svg]

FOLDER holds a folder for each run, `<side>-<algorithm>-<seed>` with the side `ours` or `cleanrl`:
the directory that the run was started in. Ours are read from `metrics.jsonl`; CleanRL's from the
lines that its scripts print into `out.log`, since its event files lag by minutes and a run may be
going on.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from mosaic.contracts.errors import EXIT_OK, ConfigError, MosaicError

RETURN_TAG, GREEDY_TAG = "charts/episodic_return", "eval/episodic_return"
EPISODES = 20  # a mean over fewer shows single episodes
LONGEST_EPISODE = 1000  # MuJoCo's; at the step itself an episode may be under way
EVERY = 1000  # steps between the points of a curve that its mean is taken over
POINTS = 80  # of a curve in the picture
_PRINTED = re.compile(r"^global_step=(\d+), episodic_return=\[?(-?[\d.e+-]+)\]?$", re.MULTILINE)
_FOLDER = re.compile(r"(ours|cleanrl)-(\w+)-(\d+)")
_COLOURS = {"ours": "#1f77b4", "cleanrl": "#d95f02"}


class Episode(NamedTuple):
    """An episode's return, and the step at which it ended."""

    step: int
    total_reward: float


@dataclass(frozen=True, slots=True)
class Curve:
    """One run: its training episodes in order, and the greedy ones after it."""

    side: str
    algo: str
    seed: int
    episodes: tuple[Episode, ...]
    greedy: tuple[float, ...] = ()

    def mean_at(self, step: int) -> float | None:
        """Return the mean of the last episodes that ended by the step; None: not reached yet."""
        count = bisect_right(self.episodes, step, key=lambda episode: episode.step)
        last = self.episodes[max(0, count - EPISODES) : count]
        if not last or self.episodes[-1].step < step - LONGEST_EPISODE:
            return None
        return fmean(episode.total_reward for episode in last)

    def mean_to(self, step: int) -> float:
        """Return the mean of the curve up to the step: a single good moment hardly sways it."""
        means = (self.mean_at(at) for at in range(EVERY, step + 1, EVERY))
        return fmean(mean for mean in means if mean is not None)


def read_curve(folder: Path) -> Curve:
    """Read one run's folder."""
    named = _FOLDER.fullmatch(folder.name)
    if named is None:
        raise ConfigError(
            f"{folder.name!r} names no run.", hint="Name it <ours|cleanrl>-<algorithm>-<seed>."
        )
    side, algo, seed = named.groups()
    found = _ours(folder) if side == "ours" else _cleanrl(folder)
    return Curve(side, algo, int(seed), *found)


def _ours(folder: Path) -> tuple[tuple[Episode, ...], tuple[float, ...]]:
    rows = [row for file in folder.rglob("metrics.jsonl") for row in _whole_rows(file)]
    episodes = (Episode(step, found[RETURN_TAG]) for step, found in rows if RETURN_TAG in found)
    greedy = (found[GREEDY_TAG] for _, found in rows if GREEDY_TAG in found)
    return tuple(episodes), tuple(greedy)


def _whole_rows(file: Path) -> Iterator[tuple[int, dict[str, float]]]:
    for line in file.read_text(encoding="utf-8").splitlines(keepends=True):
        if line.endswith("\n"):  # the last one may be half written
            row = json.loads(line)
            yield row["step"], row["values"]


def _cleanrl(folder: Path) -> tuple[tuple[Episode, ...], tuple[float, ...]]:
    printed = _PRINTED.findall((folder / "out.log").read_text(encoding="utf-8"))
    return tuple(Episode(int(step), float(total)) for step, total in printed), ()


def read_curves(folder: Path) -> list[Curve]:
    runs = [read_curve(path) for path in sorted(folder.iterdir()) if path.is_dir()]
    if not any(run.episodes for run in runs):
        raise ConfigError(f"{str(folder)!r} holds no run with a finished episode.")
    return sorted(runs, key=lambda run: (run.algo, run.side != "ours", run.seed))


def common_step(curves: Sequence[Curve], algo: str) -> int:
    """Return the step that every run of the algorithm came to, in whole thousands."""
    ends = (curve.episodes[-1].step for curve in curves if curve.algo == algo and curve.episodes)
    return min(ends) // EVERY * EVERY


def table(curves: Sequence[Curve], steps: Sequence[int]) -> str:
    """Return a Markdown table with a line for each run; a dash: not reached, or not evaluated."""
    heads = ["algorithm", "side", "seed", *(f"{step // 1000}k" for step in steps)]
    lines = [[*heads, "whole curve", "greedy"]]
    lines.append(["---"] * len(lines[0]))
    for curve in curves:
        means = [_shown(curve.mean_at(step)) for step in steps]
        end = common_step(curves, curve.algo)
        whole = f"{curve.mean_to(end):.0f} to {end // 1000}k"
        greedy = _shown(fmean(curve.greedy) if curve.greedy else None)
        lines.append([f"`{curve.algo}`", curve.side, str(curve.seed), *means, whole, greedy])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _shown(value: float | None) -> str:
    return "–" if value is None else f"{value:.0f}"


def picture(curves: Sequence[Curve], last_step: int) -> str:
    """Return an SVG with a panel for each algorithm; a line is a run."""
    algos = sorted({curve.algo for curve in curves})
    steps = [last_step * number // POINTS for number in range(1, POINTS + 1)]
    means = [[curve.mean_at(step) for step in steps] for curve in curves]
    top = max(mean for row in means for mean in row if mean is not None)
    panels = [_axes(index, algo, last_step, top) for index, algo in enumerate(algos)]
    lines = [
        _line(algos.index(curve.algo), curve.side, row, top)
        for curve, row in zip(curves, means, strict=True)
    ]
    width = _LEFT + len(algos) * _PITCH
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {_HEIGHT + 60}" '
        'font-family="sans-serif" font-size="11">'
    )
    ground = '<rect width="100%" height="100%" fill="white"/>'
    return "\n".join([head, ground, *panels, *lines, "</svg>\n"])


_LEFT, _TOP, _WIDTH, _HEIGHT, _PITCH = 50, 30, 230, 200, 290


def _axes(index: int, algo: str, last_step: int, top: float) -> str:
    left, bottom = _LEFT + index * _PITCH, _TOP + _HEIGHT
    legend = "".join(
        f'<text x="{left + 8}" y="{_TOP + 14 + 14 * row}" fill="{colour}">{side}</text>'
        for row, (side, colour) in enumerate(_COLOURS.items())
    )
    return (
        f'<text x="{left}" y="{_TOP - 10}">{algo}</text>'
        f'<path d="M{left} {_TOP}V{bottom}H{left + _WIDTH}" fill="none" stroke="#888"/>'
        f'<text x="{left - 5}" y="{bottom}" text-anchor="end">0</text>'
        f'<text x="{left - 5}" y="{_TOP + 8}" text-anchor="end">{top:.0f}</text>'
        f'<text x="{left + _WIDTH}" y="{bottom + 15}" text-anchor="end">{last_step:,} steps</text>'
        + legend
    )


def _line(index: int, side: str, means: Sequence[float | None], top: float) -> str:
    left, bottom = _LEFT + index * _PITCH, _TOP + _HEIGHT
    points = " ".join(
        f"{left + _WIDTH * (number + 1) / POINTS:.0f},{bottom - _HEIGHT * max(mean, 0) / top:.0f}"
        for number, mean in enumerate(means)
        if mean is not None
    )
    return f'<polyline points="{points}" fill="none" stroke="{_COLOURS[side]}" stroke-width="1.2"/>'


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Compare training returns at equal steps.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--every", type=int, default=50_000, metavar="STEPS")
    parser.add_argument("--steps", type=int, default=200_000, help="where the comparison ends")
    parser.add_argument("--picture", type=Path, metavar="FILE.svg")
    options = parser.parse_args(arguments)
    try:
        curves = read_curves(options.folder)
    except MosaicError as error:
        print(error.one_line(), file=sys.stderr)
        return error.exit_code
    print(table(curves, range(options.every, options.steps + 1, options.every)))
    if options.picture:
        options.picture.write_text(picture(curves, options.steps), encoding="utf-8")
    return EXIT_OK


if __name__ == "__main__":
    sys.exit(main())
