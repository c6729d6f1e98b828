"""Checkpoints: what can be gone on from, and what can be evaluated."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

from nicegui import ui

from gym_gui import formatting
from gym_gui.run_commands import RunCommand, evaluate, resume
from gym_gui.run_files import list_files
from gym_gui.run_view import RunView
from gym_gui.tabs.shown import Shown
from gym_gui.widgets.command_buttons import command_button
from gym_gui.widgets.empty import empty
from gym_gui.widgets.headings import heading
from mosaic.contracts.saved_states import find_policy, find_states, read_object
from mosaic.proto import trainer_pb2 as pb


@dataclass(frozen=True, slots=True)
class Saved:
    """A checkpoint as the tab shows it."""

    step: int
    why_not_exact: str
    size_bytes: int
    mean_return: float | None
    saved_at: float | None


def build(view: RunView) -> Shown:
    tab = _Checkpoints(view)
    return Shown(tab.refresh)


class _Checkpoints:
    def __init__(self, view: RunView) -> None:
        self._view = view
        self._shown: tuple[list[Saved], Path | None] | None = None
        self._revision = -1
        self._body = ui.column().classes("w-full gap-4")

    async def refresh(self) -> None:
        if self._revision == self._view.revision and self._shown is not None:
            return
        self._revision = self._view.revision
        found = await asyncio.to_thread(look_up, self._view.run_dir)
        if found == self._shown:
            return
        self._shown = found
        saved, policy = found
        self._body.clear()
        with self._body:
            if policy is not None:
                self._policy(policy)
            for each in reversed(saved):
                self._row(each)
            if not saved and policy is None:
                empty(
                    "Nothing is saved yet. A checkpoint comes every checkpoint_interval steps, "
                    "the policy at the end."
                )

    def _policy(self, policy: Path) -> None:
        with ui.row().classes("w-full mosaic-panel items-center gap-4"):
            with ui.column().classes("grow min-w-0 gap-0"):
                heading("Final policy", 3)
                name = policy.relative_to(self._view.run_dir.resolve()).as_posix()
                ui.label(name).classes("mosaic-mono break-all")
            command_button(self._view.live, evaluate(self._view.run_id), _open, is_small=True)

    def _row(self, saved: Saved) -> None:
        with ui.row().classes("w-full mosaic-panel items-center gap-4"):
            with ui.column().classes("grow min-w-0 gap-0"):
                heading(f"Step {saved.step:,}", 3)
                ui.label(_facts(saved)).classes("mosaic-number mosaic-muted")
            for command in (resume, evaluate):
                made = command(self._view.run_id, saved.step)
                command_button(self._view.live, made, _open, is_small=True)


async def _open(command: RunCommand, run: pb.Run) -> None:
    ui.navigate.to(f"/runs/{run.run_id}")


def look_up(run_dir: Path) -> tuple[list[Saved], Path | None]:
    """Return the checkpoints, oldest first, and the final weights."""
    saved = []
    for state in find_states(run_dir):
        document = read_object(state.path / "checkpoint.json")
        size = sum(file.size_bytes for file in list_files(state.path))
        saved.append(
            Saved(
                state.step,
                state.why_not_exact,
                size,
                _number(document.get("mean_return")),
                _number(document.get("saved_at")),
            )
        )
    return saved, find_policy(run_dir)


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _facts(saved: Saved) -> str:
    exact = "exact: resuming equals not having stopped"
    how = f"not exact: {saved.why_not_exact}" if saved.why_not_exact else exact
    parts = [how, formatting.size(saved.size_bytes)]
    if saved.mean_return is not None:
        parts.append(f"return {formatting.number(saved.mean_return)}")
    if saved.saved_at is not None:
        parts.append(formatting.age(saved.saved_at))
    return " · ".join(parts)
