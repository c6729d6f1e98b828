"""The result of a comparison, as a table and as JSON."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any

from comparison.interpreters import Interpreter


@dataclass(frozen=True, slots=True)
class Measured:
    """One side's speeds, round by round, and its matrix products a step of the learning phase.

    `product_seconds` is None where they were not measured.
    """

    name: str
    speeds: tuple[float, ...]
    product_seconds: float | None
    interpreter: Interpreter

    @property
    def speed(self) -> float:
        return median(self.speeds)

    @property
    def product_share(self) -> float | None:
        """Return the share of wall-clock time that goes into matrix products."""
        return None if self.product_seconds is None else self.product_seconds * self.speed


@dataclass(frozen=True, slots=True)
class Result:
    """One row, measured. `theirs` is None where no CleanRL was given."""

    algo: str
    env_id: str
    steps: int
    window_start: int
    settings: Mapping[str, str]
    ours: Measured
    theirs: Measured | None = None

    @property
    def ratio(self) -> float | None:
        """Return the ratio of the medians."""
        return self.ours.speed / self.theirs.speed if self.theirs else None

    @property
    def paired_ratios(self) -> tuple[float, ...]:
        """Return the ratio of each round's two runs, which stood next to each other in time."""
        if self.theirs is None:
            return ()
        return tuple(
            ours / theirs for ours, theirs in zip(self.ours.speeds, self.theirs.speeds, strict=True)
        )

    def as_json(self) -> dict[str, Any]:
        return {
            "algo": self.algo,
            "env_id": self.env_id,
            "steps": self.steps,
            "window_start": self.window_start,
            "settings": dict(self.settings),
            "ratio_of_medians": self.ratio,
            "paired_ratios": list(self.paired_ratios),
            "sides": [_side_as_json(side) for side in (self.ours, self.theirs) if side],
        }


def _side_as_json(side: Measured) -> dict[str, Any]:
    return {
        "name": side.name,
        "steps_per_second": list(side.speeds),
        "median": side.speed,
        "matrix_product_seconds_per_step": side.product_seconds,
        "matrix_product_share": side.product_share,
        "versions": dict(side.interpreter.versions),
        "torch_threads": side.interpreter.torch_threads,
    }


def table(results: Sequence[Result]) -> str:
    """Return the figures as a Markdown table."""
    header = (
        "| algorithm | environment | ours, steps/s | CleanRL, steps/s | ratio of medians "
        "| paired ratios | matrix products, ours / CleanRL |"
    )
    return "\n".join([header, "|---" * 7 + "|", *(_table_row(result) for result in results)])


def mean_ratio(results: Sequence[Result]) -> float | None:
    """Return the geometric mean of the ratios; None where nothing was compared."""
    ratios = [result.ratio for result in results if result.ratio is not None]
    return geometric_mean(ratios) if ratios else None


def summary(results: Sequence[Result]) -> str:
    """Return the mean of the ratios and the least of them, in a line; empty without a CleanRL."""
    ratios = {result.algo: result.ratio for result in results if result.ratio is not None}
    if not ratios:
        return ""
    least = min(ratios, key=ratios.__getitem__)
    return (
        f"Geometric mean of {len(ratios)} ratios: **{mean_ratio(results):.2f}**; "
        f"the least: {ratios[least]:.2f} ({least})"
    )


def document(results: Sequence[Result]) -> dict[str, Any]:
    """Return everything measured, for a file."""
    return {
        "machine": machine(),
        "geometric_mean": mean_ratio(results),
        "rows": [result.as_json() for result in results],
    }


def _table_row(result: Result) -> str:
    cells = [result.algo, result.env_id, _speed(result.ours)]
    share = _share(result.ours)
    if result.theirs is None:
        cells += ["", "", "", share]
    else:
        ratios = result.paired_ratios
        cells += [
            _speed(result.theirs),
            f"**{result.ratio:.2f}**",
            f"{min(ratios):.2f} to {max(ratios):.2f}",
            f"{share} / {_share(result.theirs)}",
        ]
    return f"| {' | '.join(cells)} |"


def _share(side: Measured) -> str:
    return "–" if side.product_share is None else f"{side.product_share:.1%}"


def _speed(side: Measured) -> str:
    return f"{side.speed:,.0f} ({min(side.speeds):,.0f} to {max(side.speeds):,.0f})"


def details(results: Sequence[Result]) -> str:
    """Return what the figures were measured with, a line for each thing."""
    lines = [f"Machine: {machine()}"]
    for result in results:
        lines.append(
            f"{result.algo}: {result.steps} steps, timed from step {result.window_start} on, "
            f"rounds: {len(result.ours.speeds)} (seeds 1, 2, ...)"
        )
        settings = ", ".join(f"{name}={value}" for name, value in result.settings.items())
        lines.append(f"  settings: {settings}")
        lines += [_side_line(side) for side in (result.ours, result.theirs) if side]
    return "\n".join(lines)


def _side_line(side: Measured) -> str:
    found = side.interpreter
    versions = ", ".join(f"{name} {version}" for name, version in found.versions.items())
    return f"  {side.name}: torch threads {found.torch_threads}, {versions}"


def machine() -> str:
    load = os.getloadavg()[0]
    return f"{_processor()}, {os.cpu_count()} cores, {platform.system()}, load {load:.1f}"


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        for line in cpuinfo.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()
