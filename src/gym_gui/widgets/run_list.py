"""A few runs as lines, each a link."""

from __future__ import annotations

from collections.abc import Sequence

from nicegui import ui

from gym_gui import formatting
from gym_gui.run_rows import title
from gym_gui.widgets.state import StateMark
from mosaic.proto import trainer_pb2 as pb


class RunList:
    """Redrawn only when other runs are to be shown."""

    def __init__(self, nothing: str) -> None:
        self._nothing = nothing
        self._shown: list[tuple[str, int, str]] | None = None
        self._list = ui.column().classes("w-full gap-1 mosaic-panel")
        self.tell(nothing)

    def tell(self, text: str) -> None:
        """Show a line in the place of runs that are not known; what is shown stays."""
        if not self._shown:
            self._list.clear()
            with self._list:
                ui.label(text).classes("mosaic-muted")

    def show(self, runs: Sequence[pb.Run]) -> None:
        key = [(run.run_id, run.revision, _age(run)) for run in runs]
        if key == self._shown:
            return
        self._shown = key
        if not runs:
            self.tell(self._nothing)
            return
        self._list.clear()
        with self._list:
            for run in runs:
                _line(run)


def _line(run: pb.Run) -> None:
    with ui.row().classes("w-full items-center gap-x-4 gap-y-0"):
        with ui.element("div").classes("w-28"):
            StateMark(run)
        ui.link(title(run), f"/runs/{run.run_id}").classes("font-bold")
        if run.HasField("seed"):
            ui.label(f"seed {run.seed}").classes("mosaic-muted")
        if run.HasField("last_return"):
            ui.label(f"return {formatting.number(run.last_return)}").classes("mosaic-number")
        ui.label(_age(run)).classes("mosaic-muted mosaic-number")


def _age(run: pb.Run) -> str:
    return formatting.age(run.ended_at if run.HasField("ended_at") else None)
