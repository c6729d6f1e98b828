"""The curves of a chart as a list: the legend, and the chart in numbers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from nicegui import ui

from gym_gui import formatting
from gym_gui.comparison import Experiment
from gym_gui.seeds import Band
from gym_gui.widgets.bands import NamedBand, colour


class CurveList:
    """One line for each curve. Lines are rebuilt only when the curves are others."""

    def __init__(self, remove: Callable[[set[str]], Awaitable[None]]) -> None:
        self._remove = remove
        self._list = ui.column().classes("w-full gap-1")
        self._shown: list[tuple[str, ...]] = []
        self._values: list[ui.label] = []

    def show(self, experiments: Sequence[Experiment], bands: Sequence[NamedBand]) -> None:
        key = [(each.name, *(member.run.run_id for member in each.members)) for each in experiments]
        if key != self._shown:
            self._shown = key
            self._build(experiments)
        for label, each in zip(self._values, bands, strict=True):
            label.set_text(last_value(each.band))

    def _build(self, experiments: Sequence[Experiment]) -> None:
        self._list.clear()
        self._values = []
        with self._list:
            for index, each in enumerate(experiments):
                with ui.row().classes("w-full items-center gap-x-3 gap-y-0"):
                    self._line(index, each)

    def _line(self, index: int, each: Experiment) -> None:
        run_ids = {member.run.run_id for member in each.members}
        ui.element("span").classes("inline-block w-6 h-1 rounded").style(
            f"background: {colour(index)}"
        )
        ui.label(each.name).classes("font-bold min-w-0 break-words")
        self._values.append(ui.label().classes("mosaic-number"))
        with ui.row().classes("gap-2 items-center"):
            for member in each.members:
                seed = f"seed {member.run.seed}" if member.run.HasField("seed") else "random seed"
                ui.link(seed, f"/runs/{member.run.run_id}").classes("text-sm").tooltip(
                    member.run.name
                )

        async def remove() -> None:
            await self._remove(run_ids)

        ui.button(icon="close", on_click=remove).props(
            "flat round dense size=sm aria-label='Leave out of the comparison'"
        )


def last_value(band: Band) -> str:
    """Return where a curve ends, with its band where it has one."""
    if not band.steps:
        return "no values of this metric"
    mean, low, high = band.mean[-1], band.low[-1], band.high[-1]
    text = formatting.number(mean)
    if high > low:
        text += f" ({formatting.number(low)} to {formatting.number(high)})"
    runs = band.runs[-1]
    return f"{text} at step {formatting.count(band.steps[-1])}" + (
        f", {runs} runs" if runs > 1 else ""
    )
