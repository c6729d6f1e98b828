"""The Markdown that derived pages are made of."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [_row(headings), _row(["---"] * len(headings))]
    return lines + [_row([cell.replace("|", "\\|") for cell in row]) for row in rows]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def value(given: Any) -> str:
    return "none" if given is None else f"`{json.dumps(given)}`"
