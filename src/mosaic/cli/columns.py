"""Tables that fit: a column that has no room is left out, and nothing wraps.

Drawn without rich, whose import takes longer than to ask the daemon for what is shown.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")

_GAP = "  "
_PIPE_WIDTH = 160  # wide enough for one line a row where nobody's window wraps it
_SHRUNK = 12


@dataclass(frozen=True, slots=True)
class Column(Generic[T]):
    heading: str
    cell: Callable[[T], str]
    rank: int  # columns of the highest rank are left out first; those of rank 0 never
    right: bool = False
    can_shrink: bool = False  # cut at the edge of the window


def output_width() -> int:
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else _PIPE_WIDTH


def table_lines(columns: Sequence[Column[T]], rows: Sequence[T], width: int) -> list[str]:
    """Return the heading and a line for each row, none longer than `width` allows."""
    texts = {
        column.heading: [column.heading, *(" ".join(column.cell(row).split()) for row in rows)]
        for column in columns
    }
    widths = {heading: max(map(len, cells)) for heading, cells in texts.items()}
    kept = _fitting(
        [column for column in columns if _is_told(texts[column.heading])], widths, width
    )
    lines = []
    for index in range(len(rows) + 1):
        cells = [_pad(texts[each.heading][index], widths[each.heading], each) for each in kept]
        lines.append(_clip(_GAP.join(cells).rstrip(), width))
    return lines


def _is_told(cells: Sequence[str]) -> bool:
    """Say whether a row has something to say in this column."""
    return any(cell not in ("", "-") for cell in cells[1:])


def _fitting(columns: list[Column[T]], widths: dict[str, int], width: int) -> list[Column[T]]:
    kept = list(columns)

    def needed() -> int:
        sizes = [
            min(widths[each.heading], _SHRUNK) if each.can_shrink else widths[each.heading]
            for each in kept
        ]
        return sum(sizes) + len(_GAP) * (len(kept) - 1)

    while kept and needed() > width:
        last = max(kept, key=lambda each: each.rank)
        if last.rank == 0:
            break
        kept.remove(last)
    return kept


def _pad(text: str, width: int, column: Column[T]) -> str:
    return text.rjust(width) if column.right else text.ljust(width)


def _clip(text: str, width: int) -> str:
    return text if len(text) <= width else text[: max(0, width - 1)] + "…"
