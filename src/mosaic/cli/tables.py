"""Tables on the terminal."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Sequence

_PIPE_WIDTH = 160  # wide enough for one line a row where nobody's window wraps it


def print_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    from rich.console import Console
    from rich.table import Table

    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else _PIPE_WIDTH
    table = Table(box=None, pad_edge=False, header_style="bold")
    for number, heading in enumerate(headings):
        table.add_column(heading, no_wrap=number == 0, overflow="fold")
    for row in rows:
        table.add_row(*row)
    console = Console(width=width, highlight=False, markup=False)
    console.print(table)
