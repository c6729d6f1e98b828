"""What a run has brought: the block that a person reads, and the object that a program reads."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mosaic.cli.formatting import format_count, format_duration, format_score, short_path
from mosaic.cli.local_run import LocalRun, describe_exit
from mosaic.cli.progress import EVALUATION_TAG, Progress
from mosaic.contracts.errors import EXIT_CONFIG, EXIT_DEPENDENCY
from mosaic.contracts.events import STDERR_TAIL_LINES
from mosaic.contracts.paths import RunPaths

_LABEL_WIDTH = 13
_SHOWN_ERROR_LINES = 8


class Result:
    """One finished run, however it ended."""

    def __init__(self, paths: RunPaths, run: LocalRun, progress: Progress) -> None:
        self.run_id = paths.root.name
        self.paths = paths
        self.run = run
        self.progress = progress
        self.manifest = _manifest(paths, run)

    @property
    def return_code(self) -> int:
        return self.run.return_code

    @property
    def final_metrics(self) -> Mapping[str, Any]:
        metrics = self.manifest.get("metrics")
        final = metrics.get("final") if isinstance(metrics, Mapping) else None
        return final if isinstance(final, Mapping) else {}

    @property
    def evaluation(self) -> float | None:
        value = self.final_metrics.get(EVALUATION_TAG)
        return float(value) if isinstance(value, int | float) else None

    @property
    def seed(self) -> int | None:
        return self.manifest.get("seed")

    @property
    def error(self) -> str | None:
        """Why the run failed, in one line."""
        if self.run.status != "failed":
            return None
        told = self.run.payload.get("error")
        if isinstance(told, str) and told:
            return " ".join(told.split())
        if self.run.reason:
            return self.run.reason
        was_killed = self.return_code > 128
        return describe_exit(self.return_code) if was_killed else self.run.last_words

    def to_json(self) -> dict[str, Any]:
        document = {
            "run_id": self.run_id,
            "status": self.run.status,
            "run_dir": str(self.paths.root),
            "metrics": {"final": dict(self.final_metrics)},
            "return_code": self.return_code,
        }
        return document | ({} if self.error is None else {"error": self.error})

    def lines(self, width: int | None = None) -> list[str]:
        """Return the block; no line is longer than the terminal, unless a path is."""
        width = width or shutil.get_terminal_size().columns
        blocks = [[self._headline()]]
        if self.run.status == "failed":
            blocks.append(self._stderr_lines())
        else:
            blocks.append(self._scores(width))
        blocks.append(self._places(width))
        return [line for block in blocks if block for line in [*block, ""]]

    def _headline(self) -> str:
        progress = self.progress
        what = {"completed": "done", "failed": "failed", "cancelled": "stopped"}[self.run.status]
        parts = [f"{progress.label}: {what} after {format_duration(self.run.duration_s)}"]
        if self.run.status != "completed":
            total = "" if progress.total_steps is None else f" of {progress.total_steps:,}"
            parts.append(f"{progress.step:,}{total} {progress.unit}")
        elif self.seed is not None:
            parts.append(f"seed {self.seed}")
        line = ", ".join(parts)
        return line if self.error is None else f"{line}\n{self.error}"

    def _scores(self, width: int) -> list[str]:
        return [_row(label, value, explained, width) for label, value, explained in self._rows()]

    def _rows(self) -> list[tuple[str, str, str]]:
        """Return the figures: what each is called, its value, and what it means."""
        rows = []
        if self.progress.recent_return is not None:
            explained = f"mean of the last {len(self.progress.returns)} training episodes"
            rows.append(("return", format_score(self.progress.recent_return), explained))
        if self.evaluation is not None:
            rows.append(("evaluation", format_score(self.evaluation), "mean of 10 greedy episodes"))
        if (rate := self._steps_per_second()) is not None:
            rows.append(("speed", format_count(rate), "environment steps a second"))
        return rows

    def _steps_per_second(self) -> float | None:
        resources = self.manifest.get("resources")
        rate = resources.get("steps_per_second") if isinstance(resources, Mapping) else None
        return float(rate) if isinstance(rate, int | float) else self.progress.steps_per_second

    def _stderr_lines(self) -> list[str]:
        tail = self.run.payload.get("stderr_tail")
        lines = tail.splitlines() if isinstance(tail, str) else tail
        if not isinstance(lines, list) or not lines:
            lines = [line for line in self.run.stderr if line != self.error]
        shown = [str(line) for line in lines[-STDERR_TAIL_LINES:]][-_SHOWN_ERROR_LINES:]
        return [f"  | {line}" for line in shown]

    def _places(self, width: int) -> list[str]:
        """Say where everything lies: the run directory, then what is in it."""
        root = self.paths.root
        if not root.is_dir():
            return []
        lines = _place("run", short_path(root), width)
        for label, relative in self._artifacts():
            if relative and (root / relative).exists():
                lines += _place(label, relative, width, indent=4)
        return lines

    def _artifacts(self) -> list[tuple[str, str | None]]:
        artifacts = self.manifest.get("artifacts")
        found = artifacts if isinstance(artifacts, Mapping) else {}
        log = self.paths.stderr_log if self.run.status == "failed" else self.paths.logs
        return [
            ("model", _text(found, "policy", "path")),
            ("checkpoint", _text(found, "checkpoints", "latest")),
            ("tensorboard", _text(found, "tensorboard", "relative_path")),
            ("metrics", self.paths.relative(self.paths.metrics)),
            ("logs", self.paths.relative(log)),
        ]


class EvaluationResult(Result):
    """An evaluation: its figures are those of its last batch."""

    def _rows(self) -> list[tuple[str, str, str]]:
        summary = _read_object(self.paths.evaluation_summary)
        episodes, batch = summary.get("episodes"), summary.get("batch_index")
        figures = {
            "return": ("avg_return", f"mean of {episodes} episodes, batch {batch}"),
            "median": ("median_return", ""),
            "lowest": ("min_return", ""),
            "highest": ("max_return", ""),
            "spread": ("std_return", "standard deviation"),
        }
        rows = [
            (label, format_score(summary[key]), explained)
            for label, (key, explained) in figures.items()
            if isinstance(summary.get(key), int | float)
        ]
        interval = summary.get("ci95_return")
        if rows and isinstance(interval, list) and all(isinstance(n, float) for n in interval):
            low, high = (format_score(end) for end in interval)
            rows.insert(1, ("", f"{low} to {high}", "95 % interval of the mean"))
        return rows

    def _artifacts(self) -> list[tuple[str, str | None]]:
        summary = self.paths.relative(self.paths.evaluation_summary)
        # The policy belongs to another run, and the checkpoints as well.
        own = [place for place in super()._artifacts() if place[0] not in ("model", "checkpoint")]
        return [("summary", summary), *own]


def series_lines(title: str, results: Sequence[tuple[int | None, Result]]) -> list[str]:
    """Return one row a seed."""
    lines = [f"{title}, {len(results)} seeds"]
    lines.append(f"  {'seed':<12}{'status':<12}{'return':<10}evaluation")
    for seed, result in results:
        score, evaluation = result.progress.recent_return, result.evaluation
        lines.append(
            f"  {seed!s:<12}{result.run.status:<12}{format_score(score):<10}"
            f"{format_score(evaluation)}"
        )
    return lines


def report(result: Result, *, as_json: bool) -> None:
    """Tell a person how a run ended; with JSON only what went wrong, beside the object."""
    if result.return_code in (EXIT_CONFIG, EXIT_DEPENDENCY) or as_json:
        if result.error is not None:
            print(f"mosaic: {result.error}", file=sys.stderr)
        return
    out = sys.stderr if result.run.status == "failed" else sys.stdout
    print("\n".join(result.lines()), file=out)


def _manifest(paths: RunPaths, run: LocalRun) -> Mapping[str, Any]:
    """Return the manifest: from the last event, or, after a stop, from the file."""
    told = run.payload.get("manifest")
    if isinstance(told, Mapping):
        return told
    return _read_object(paths.manifest)


def _read_object(path: Path) -> Mapping[str, Any]:
    """Return the object of a file of the run's; an empty one where there is none."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return document if isinstance(document, dict) else {}


def _text(found: Mapping[str, Any], section: str, key: str) -> str | None:
    part = found.get(section)
    value = part.get(key) if isinstance(part, Mapping) else None
    return value if isinstance(value, str) else None


def _row(label: str, value: str, explained: str, width: int) -> str:
    line = f"  {label:<{_LABEL_WIDTH}}{value:<9}"
    full = line + explained
    return (full if len(full) <= width else line).rstrip()


def _place(label: str, path: str, width: int, indent: int = 2) -> list[str]:
    """Return one line, or two where both do not fit; a path is never cut, it is there to copy."""
    line = f"{' ' * indent}{label:<{_LABEL_WIDTH}}{path}"
    if len(line) <= width:
        return [line]
    return [f"{' ' * indent}{label}", f"{' ' * indent}{path}"]
