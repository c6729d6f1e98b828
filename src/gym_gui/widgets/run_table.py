"""The table of runs: cells are text, rows keep their places while their figures change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from nicegui import ui
from nicegui.events import GenericEventArguments

from gym_gui.run_rows import row
from mosaic.proto import trainer_pb2 as pb


def _column(name: str, label: str, field: str, *, sortable: bool = False) -> dict[str, Any]:
    return {"name": name, "label": label, "field": field, "align": "left", "sortable": sortable}


# A column that the daemon can sort by has the name that the daemon has for it.
_COLUMNS = [
    _column("state", "State", "state", sortable=True),
    _column("name", "Run", "name", sortable=True),
    _column("algo", "Algorithm", "algo", sortable=True),
    _column("env_id", "Environment", "env", sortable=True),
    _column("seed", "Seed", "seed"),
    _column("step", "Steps", "steps", sortable=True),
    _column("returns", "Return (best)", "returns"),
    _column("speed", "Steps/s", "speed"),
    _column("created_at", "Created", "started", sortable=True),
    _column("duration", "Duration", "duration"),
    _column("worker", "Worker", "worker"),
]

_STATE = """<span class="mosaic-state" :style="props.row.colours" :title="props.row.reason">
  <q-icon :name="props.row.icon" aria-hidden="true" />{{ props.row.state }}</span>"""
_NAME = """<a :href="props.row.href" :title="props.row.name" class="mosaic-run-name"
  >{{ props.row.name }}</a>
  <q-badge v-if="props.row.mode" outline class="mosaic-muted">{{ props.row.mode }}</q-badge>"""
_PROGRESS = """<div class="mosaic-number">{{ props.row.steps }}</div>
  <div class="mosaic-progress" aria-hidden="true" v-if="props.row.progress >= 0"
    ><div :style="{width: 100 * props.row.progress + '%'}"></div></div>"""
_CREATED = '<span :title="props.row.started_at">{{ props.row.started }}</span>'


def check_box(label: str) -> str:
    """Return a box that selects a row, or all; `label` is an expression in Vue's words.

    It is the browser's own: fifty of Quasar's make the page slower to build.
    """
    return (
        '<input type="checkbox" v-model="props.selected" class="mosaic-check" '
        f':indeterminate.prop="props.selected === null" :aria-label="{label}" />'
    )


_CHECK = check_box("'Select ' + props.row.name")

# What a narrow screen shows instead of a row.
_CARD = f"""<div class="col-12 q-pa-xs"><div class="mosaic-panel column no-wrap gap-1">
  <div class="row items-center gap-2 no-wrap">{_CHECK}<div class="col ellipsis">{_NAME}</div></div>
  <div class="row items-center justify-between gap-2">{_STATE}<span class="mosaic-muted">
    {_CREATED}</span></div>
  <div>{{{{ props.row.algo }}}} on {{{{ props.row.env }}}}, seed {{{{ props.row.seed }}}}</div>
  {_PROGRESS}
  <div class="mosaic-number">Return (best) {{{{ props.row.returns }}}}</div>
  <div class="mosaic-number mosaic-muted">{{{{ props.row.speed }}}} steps/s,
    {{{{ props.row.duration }}}}</div></div></div>"""

_STYLE = """
.mosaic-run-name { display: inline-block; max-width: 9rem; overflow: hidden;
                   text-overflow: ellipsis; white-space: nowrap; vertical-align: bottom; }
body:not(.body--dark) .mosaic-runs a { color: #1d4ed8; }
.mosaic-runs a:hover { text-decoration: underline; }
.mosaic-runs td, .mosaic-runs th { padding: 4px 6px !important; }
.mosaic-runs .q-table__grid-content .mosaic-run-name { max-width: 100%; }
.mosaic-runs .q-table__grid-content { overflow-wrap: anywhere; }
.mosaic-check { width: 16px; height: 16px; margin: 0; vertical-align: middle;
                accent-color: var(--q-primary); }
.mosaic-progress { height: 4px; background: rgb(125 125 125 / 0.25); }
.mosaic-progress > div { height: 100%; background: var(--q-primary); }
.mosaic-runs td { max-width: 16rem; overflow: hidden; text-overflow: ellipsis; }
"""


def add_table_style() -> None:
    ui.add_css(_STYLE)


class RunTable:
    """One page of runs. What is selected stays selected while pages are turned."""

    def __init__(
        self, *, on_select: Callable[[], None], on_sort: Callable[[str, bool], Any]
    ) -> None:
        add_table_style()
        self._runs: dict[str, pb.Run] = {}
        self._bests: dict[str, float] = {}
        self._on_sort = on_sort
        self._table = (
            ui.table(
                rows=[],
                columns=_COLUMNS,
                row_key="id",
                selection="multiple",
                on_select=lambda _: on_select(),
            )
            .classes("w-full mosaic-runs")
            .props('flat bordered dense hide-pagination :grid="Quasar.Screen.lt.sm"')
            .props('hide-no-data aria-label="Runs" binary-state-sort')
        )
        for name, cell in (("state", _STATE), ("name", _NAME), ("step", _PROGRESS)):
            self._table.add_slot(f"body-cell-{name}", f'<q-td :props="props">{cell}</q-td>')
        self._table.add_slot("body-cell-created_at", f'<q-td :props="props">{_CREATED}</q-td>')
        self._table.add_slot("body-selection", _CHECK)
        self._table.add_slot("header-selection", check_box("'Select every run shown'"))
        self._table.add_slot("item", _CARD)
        self._table.on("request", self._sort, ["pagination"])

    def _sort(self, event: GenericEventArguments) -> Any:
        wanted = event.args["pagination"]
        return self._on_sort(wanted.get("sortBy") or "created_at", not wanted.get("descending"))

    @property
    def selected(self) -> list[str]:
        return [each["id"] for each in self._table.selected]

    @property
    def runs(self) -> Mapping[str, pb.Run]:
        return self._runs

    def set_visibility(self, is_visible: bool) -> None:
        self._table.set_visibility(is_visible)

    def unselect(self) -> None:
        self._table.selected = []

    def show(self, runs: Iterable[pb.Run], *, sort: str, up: bool, total: int) -> None:
        """Show a page of runs."""
        self._runs = {run.run_id: run for run in runs}
        self._table.pagination = {
            "sortBy": sort,
            "descending": not up,
            "page": 1,
            "rowsPerPage": 0,
            "rowsNumber": total,  # tells Quasar that the daemon sorts, not the browser
        }
        self._redraw()

    def show_bests(self, bests: Mapping[str, float]) -> None:
        if any(self._bests.get(run_id) != best for run_id, best in bests.items()):
            self._bests = {**{key: self._bests[key] for key in self._bests if key in self._runs}}
            self._bests |= bests
            self._redraw()

    def update(self, known: Mapping[str, pb.Run]) -> None:
        """Take over what is newer; a clock that goes on is redrawn as well."""
        for run_id, run in self._runs.items():
            newer = known.get(run_id)
            if newer is not None and newer.revision > run.revision:
                self._runs[run_id] = newer
        self._redraw()

    def _redraw(self) -> None:
        rows = [row(run, self._bests.get(run_id)) for run_id, run in self._runs.items()]
        if rows != self._table.rows:
            self._table.rows = rows
