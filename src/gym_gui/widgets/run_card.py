"""A run at a glance: its state, its curve, how fast it goes and how long it takes."""

from __future__ import annotations

from nicegui import ui

from gym_gui import formatting
from gym_gui.run_rows import elapsed, has_ended, name, share, speed, steps, time_left, title
from gym_gui.widgets.sparkline import Sparkline
from gym_gui.widgets.state import StateMark
from gym_gui.widgets.thumbnail import Thumbnail
from mosaic.proto import trainer_pb2 as pb


class RunCard:
    """One card, of a fixed size whatever the run does."""

    def __init__(self, run: pb.Run) -> None:
        self.revision = -1
        with ui.column().classes("mosaic-panel w-80 max-sm:w-full gap-1") as self._card:
            with ui.row().classes("w-full items-center justify-between no-wrap"):
                self._state = StateMark(run)
                self._seed = ui.label().classes("mosaic-muted text-sm")
            ui.link(title(run), f"/runs/{run.run_id}").classes("font-bold w-full truncate")
            self._note = ui.label().classes("mosaic-muted text-sm w-full truncate h-5")
            with ui.row().classes("w-full no-wrap items-center gap-2"):
                self._thumbnail = Thumbnail(run.run_id, run.env_id)
                self._spark = Sparkline()
            self._bar = ui.linear_progress(show_value=False, size="4px").props(
                "aria-label='Progress'"
            )
            with ui.row().classes("w-full justify-between no-wrap mosaic-number text-sm"):
                self._return = ui.label()
                self._steps = ui.label()
            with ui.row().classes("w-full justify-between no-wrap mosaic-number text-sm"):
                self._speed = ui.label()
                self._left = ui.label()
        self.show(run)

    def show(self, run: pb.Run) -> None:
        """Take over what changed."""
        self.revision = run.revision
        self._state.show(run)
        self._seed.set_text(f"seed {run.seed}" if run.HasField("seed") else "random seed")
        self._note.set_text(_note(run))
        self._bar.set_value(share(run) or 0.0)
        last = formatting.number(run.last_return if run.HasField("last_return") else None)
        self._return.set_text(f"return {last}")
        self._steps.set_text(steps(run))
        self._speed.set_text(speed(run))
        self._left.set_text(_clock(run))
        self._thumbnail.show(is_moving=run.state == "EXECUTING")

    def draw(self, series: pb.Series) -> None:
        self._spark.show(series)

    def remove(self) -> None:
        self._card.delete()


def _note(run: pb.Run) -> str:
    """Return why a run is as it is, and otherwise its name."""
    if run.reason:
        return run.reason
    return f"place {run.queue_position} in the queue" if run.queue_position else name(run)


def _clock(run: pb.Run) -> str:
    if has_ended(run):
        return f"took {formatting.duration(elapsed(run))}"
    left = time_left(run)
    if left is not None:
        return f"{formatting.duration(left)} left"
    return "" if elapsed(run) is None else f"for {formatting.duration(elapsed(run))}"
