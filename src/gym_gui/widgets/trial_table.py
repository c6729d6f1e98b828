"""The trials of a study, best first; a trial opens its run."""

from __future__ import annotations

from nicegui import ui

from gym_gui.sweep_data import param_names, trial_rows
from mosaic.sweeps.reading import Study

_LINK = """
<q-td :props="props">
  <a v-if="props.row.run" :href="'/runs/' + encodeURIComponent(props.row.run)">
    {{ props.value }}</a>
  <span v-else>{{ props.value }}</span>
</q-td>"""
_STATE = '<q-td :props="props"><span :title="props.row.reason">{{ props.value }}</span></q-td>'


class TrialTable:
    def __init__(self) -> None:
        self._table = ui.table(rows=[], columns=[], row_key="number").classes("w-full")
        self._table.props("flat dense wrap-cells :rows-per-page-options='[20, 50, 100, 0]'")
        self._table.add_slot("body-cell-number", _LINK)
        self._table.add_slot("body-cell-state", _STATE)

    def show(self, study: Study) -> None:
        columns = [
            {"name": "number", "label": "Trial", "field": "number", "align": "right"},
            {"name": "value", "label": "Objective", "field": "value", "align": "right"},
            {"name": "state", "label": "State", "field": "state", "align": "left"},
        ]
        for name in param_names(study):
            key = f"param:{name}"
            columns.append({"name": key, "label": name, "field": key, "align": "right"})
        if self._table.columns != columns:
            self._table.columns = columns
        rows = trial_rows(study)
        if self._table.rows != rows:
            self._table.rows = rows
