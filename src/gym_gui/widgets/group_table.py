"""The table of experiments: runs that differ in nothing but the seed are one row."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from nicegui import ui

from gym_gui import formatting
from gym_gui.experiments import experiment_key, what_sets_apart
from gym_gui.live import Live
from gym_gui.run_data import fetch_configs
from gym_gui.run_rows import state_word
from gym_gui.seeds import half_width
from gym_gui.widgets.run_table import add_table_style, check_box
from mosaic.proto import trainer_pb2 as pb


def _column(name: str, label: str) -> dict[str, Any]:
    return {"name": name, "label": label, "field": name, "align": "left"}


_COLUMNS = [
    _column("experiment", "Experiment"),
    _column("settings", "What sets it apart"),
    _column("states", "Runs"),
    _column("seeds", "Seeds"),
    _column("return", "Last return (mean ± 95 %)"),
    _column("best", "Best last return"),
    _column("newest", "Newest"),
]

_SEEDS = """<q-td :props="props" class="mosaic-wrap"><span v-for="run in props.row.seeds">
  <a :href="run.href" :title="run.name">{{ run.seed }}</a>&ensp;</span></q-td>"""
_EXPERIMENT = '<q-td :props="props"><a :href="props.row.href">{{ props.row.experiment }}</a></q-td>'
_CHECK = check_box("'Select ' + props.row.experiment")
_CARD = f"""<div class="col-12 q-pa-xs"><div class="mosaic-panel column no-wrap gap-1">
  <div class="row items-center gap-2 no-wrap">{_CHECK}
    <a :href="props.row.href">{{{{ props.row.experiment }}}}</a></div>
  <div>{{{{ props.row.settings }}}}</div><div>{{{{ props.row.states }}}}</div>
  <div class="mosaic-number">Return {{{{ props.row.return }}}}</div></div></div>"""


class GroupTable:
    """Experiments over one page of runs; selecting one selects its runs."""

    def __init__(self, live: Live, *, on_select: Callable[[], None]) -> None:
        add_table_style()
        self._live = live
        self._runs: dict[str, pb.Run] = {}
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
            .props('hide-no-data aria-label="Experiments" wrap-cells')
        )
        self._table.add_slot("body-cell-seeds", _SEEDS)
        self._table.add_slot("body-cell-experiment", _EXPERIMENT)
        self._table.add_slot("body-selection", _CHECK)
        self._table.add_slot("header-selection", check_box("'Select every experiment shown'"))
        self._table.add_slot("item", _CARD)

    @property
    def selected(self) -> list[str]:
        return [run["id"] for each in self._table.selected for run in each["seeds"]]

    @property
    def runs(self) -> Mapping[str, pb.Run]:
        return self._runs

    def set_visibility(self, is_visible: bool) -> None:
        self._table.set_visibility(is_visible)

    def unselect(self) -> None:
        self._table.selected = []

    async def show(self, runs: Iterable[pb.Run]) -> None:
        """Fetch the configs of these runs, and show which belong together."""
        self._runs = {run.run_id: run for run in runs}
        self._configs = await fetch_configs(self._live.need_client(), self._runs)
        self._redraw()

    def show_bests(self, bests: Mapping[str, float]) -> None:
        """Take the best returns, which this table has no column for."""

    def update(self, known: Mapping[str, pb.Run]) -> None:
        newer = {
            run_id: known[run_id]
            for run_id, run in self._runs.items()
            if run_id in known and known[run_id].revision > run.revision
        }
        if newer:
            self._runs |= newer
            self._redraw()

    def _redraw(self) -> None:
        groups: dict[str, list[pb.Run]] = {}
        for run in self._runs.values():
            config = self._configs.get(run.run_id)
            if config is not None:
                groups.setdefault(experiment_key(run, config), []).append(run)
        apart = what_sets_apart(
            [(members[0], self._configs[members[0].run_id]) for members in groups.values()]
        )
        rows = [_row(members, text) for members, text in zip(groups.values(), apart, strict=True)]
        if rows != self._table.rows:
            self._table.rows = rows


def _row(members: Sequence[pb.Run], apart: str) -> dict[str, Any]:
    first = members[0]
    states = Counter(state_word(run) for run in members)
    returns = [run.last_return for run in members if run.HasField("last_return")]
    return {
        "id": first.run_id,
        "experiment": f"{first.algo} on {first.env_id}",
        "href": f"/compare?runs={','.join(run.run_id for run in members)}",
        "settings": apart or "–",
        "states": f"{len(members)}: "
        + ", ".join(f"{count} {word}" for word, count in states.most_common()),
        "seeds": [_seed(run) for run in sorted(members, key=lambda run: run.seed)],
        "return": _mean(returns),
        "best": formatting.number(max(returns, default=None)),
        "newest": formatting.age(max(run.created_at for run in members)),
    }


def _seed(run: pb.Run) -> dict[str, str]:
    return {
        "id": run.run_id,
        "seed": str(run.seed) if run.HasField("seed") else "random",
        "name": run.name,
        "href": f"/runs/{run.run_id}",
    }


def _mean(values: Sequence[float]) -> str:
    if not values:
        return "–"
    mean = formatting.number(statistics.fmean(values))
    return f"{mean} ± {formatting.number(half_width(values))}" if len(values) > 1 else mean
