"""What two experiments or runs were told differently, and what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nicegui import ui

from gym_gui.experiments import differences, is_own_of_run, short_names

_LONGEST = 80


class DifferenceTable:
    """One row for each setting that is not the same everywhere, one column for each curve."""

    def __init__(self) -> None:
        self._table = (
            ui.table(rows=[], columns=[], row_key="name")
            .classes("w-full")
            .props("flat bordered dense hide-pagination hide-no-data wrap-cells")
            .props("aria-label='Differences'")
        )
        self._note = ui.label().classes("mosaic-muted")

    def show(self, names: Sequence[str], configs: Sequence[Any], *, with_own: bool) -> None:
        """Show the settings; `with_own` says whether those of single runs count, as the seed."""
        found = [each for each in differences(configs) if with_own or not is_own_of_run(each.name)]
        short = short_names(each.name for each in found)
        # Fields are numbered: a name from outside is a text, and never a key.
        columns = [{"name": "name", "label": "Setting", "field": "name", "align": "left"}]
        columns += [
            {"name": f"c{index}", "label": name, "field": f"c{index}", "align": "left"}
            for index, name in enumerate(names)
        ]
        rows = [
            {"name": short[each.name]}
            | {f"c{index}": value[:_LONGEST] for index, value in enumerate(each.values)}
            for each in found
        ]
        self._table.columns = columns
        self._table.rows = rows
        self._table.set_visibility(bool(rows))
        self._note.set_text("" if rows else _nothing(len(configs)))


def _nothing(count: int) -> str:
    if count < 2:
        return "With two curves or more, this shows where their settings differ."
    return "Their settings are all the same."
