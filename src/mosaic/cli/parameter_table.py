"""Parameters as lines of a help text: flag, default, what is allowed, what it does."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

from mosaic.contracts.parameters import Parameter

_WIDEST = 110
_MIN_HELP_WIDTH = 24


def parameter_lines(parameters: Iterable[Parameter], width: int | None = None) -> list[str]:
    """Return a row for each parameter, or in a narrow window a paragraph."""
    rows = [(each.flag, show(each.default), show_range(each), each.help) for each in parameters]
    width = width or min(_WIDEST, shutil.get_terminal_size().columns)
    columns = [max((len(row[index]) for row in rows), default=0) for index in range(3)]
    start = 2 + sum(column + 2 for column in columns if column)
    if width - start < _MIN_HELP_WIDTH:
        return [line for row in rows for line in _paragraph(row, width)]
    return [line for row in rows for line in _row(row, columns, width - start)]


def _row(row: Sequence[str], columns: Sequence[int], help_width: int) -> list[str]:
    cells = [f"{cell:<{column}}  " for cell, column in zip(row, columns, strict=False) if column]
    front = "  " + "".join(cells)
    text = textwrap.wrap(row[-1], help_width) or [""]
    return [front + text[0], *(" " * len(front) + more for more in text[1:])]


def _paragraph(row: Sequence[str], width: int) -> list[str]:
    flag, default, allowed, help_text = row
    facts = [f"default {default}"] if default else []
    facts += [allowed] if allowed else []
    text = f"{help_text} [{'; '.join(facts)}]" if facts else help_text
    return [f"  {flag}", *(f"      {line}" for line in textwrap.wrap(text, max(10, width - 6)))]


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
