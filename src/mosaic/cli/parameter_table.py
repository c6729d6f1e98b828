"""Parameters as lines of a help text: flag, default, what is allowed, what it does."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

from mosaic.contracts.parameters import Parameter

_WIDEST = 110
_MIN_HELP_WIDTH = 24
_COLUMN_LIMITS = (24, 12, 20)  # flag, default, range


def parameter_lines(parameters: Iterable[Parameter], width: int | None = None) -> list[str]:
    """Return a row for each parameter; the help is broken inside its own column."""
    rows = [(each.flag, show(each.default), show_range(each), each.help) for each in parameters]
    width = width or min(_WIDEST, shutil.get_terminal_size().columns)
    columns = [
        min(limit, max((len(row[index]) for row in rows), default=0))
        for index, limit in enumerate(_COLUMN_LIMITS)
    ]
    return [line for row in rows for line in _lines(row, columns, width)]


def _lines(row: Sequence[str], columns: Sequence[int], width: int) -> list[str]:
    cells = [f"{cell:<{column}}" for cell, column in zip(row, columns, strict=False) if column]
    front = "  " + "  ".join(cells) + "  "
    start = len("  " + "".join(" " * column + "  " for column in columns if column))
    if width - start < _MIN_HELP_WIDTH:  # a narrow window: the help has a line of its own
        front, start = front.rstrip() + "\n" + " " * 6, 6
    text = textwrap.wrap(row[-1], width - start) or [""]
    return (front + text[0]).splitlines() + [" " * start + more for more in text[1:]]


def show(value: Any) -> str:
    """Return a default as one would say it; nothing for a parameter without one."""
    if value is None or value in ("", {}):
        return ""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, list | tuple):
        return " ".join(str(item) for item in value)
    return str(value)


def show_range(parameter: Parameter) -> str:
    """Return what is allowed, as short as can be."""
    if parameter.choices:
        return ", ".join(str(choice) for choice in parameter.choices)
    low, high = parameter.range or (None, None)
    if low is not None and high is not None:
        return f"{low} to {high}"
    if low is not None:
        return f"≥ {low}"
    return "" if high is None else f"≤ {high}"
