"""The head of a run's page: what it is, how it stands and why, where it came from, what to do."""

from __future__ import annotations

import time

from nicegui import ui

from gym_gui import formatting
from gym_gui.causes import explain, has_ended
from gym_gui.run_commands import RunCommand, commands_for, forms_for
from gym_gui.run_rows import name
from gym_gui.run_view import RunView
from gym_gui.watchdogs import Finding
from gym_gui.widgets.command_buttons import command_button
from gym_gui.widgets.headings import heading
from gym_gui.widgets.state import StateMark
from mosaic.contracts.errors import MosaicError
from mosaic.proto import trainer_pb2 as pb

_MOST_CHILDREN = 12
_KINDS = {"resume_training": "Resumed as", "policy_eval": "Evaluated as"}


class RunHeader:
    """Built once; `refresh` changes texts in place, so that nothing under it moves."""

    def __init__(self, view: RunView) -> None:
        self._view = view
        self._shown_actions: tuple[str, ...] = ()
        self._told: set[str] = set()
        self._chips: dict[str, ui.element] = {}
        with ui.column().classes("w-full mosaic-panel gap-2"):
            with ui.row().classes("w-full items-center gap-3"):
                run = view.run
                self._state = StateMark(run)
                heading(_title(run), 1).classes("grow")
                self._actions = ui.row().classes("items-center gap-1")
            ui.label(" · ".join(dict.fromkeys((name(run), run.run_id)))).classes(
                "mosaic-muted mosaic-mono break-all"
            )
            self._bar = ui.linear_progress(0, show_value=False, size="10px").props("rounded")
            self._bar.props('aria-label="Progress"')
            self._progress = ui.label().classes("mosaic-number")
            self._findings = ui.row().classes("gap-2")
            self._cause = _CausePanel()
            self._lineage = ui.row().classes("gap-4 text-sm")
            self._lineage.set_visibility(False)
        self.refresh()

    def refresh(self) -> None:
        run = self._view.run
        self._state.show(run)
        share = _share(run)
        self._bar.set_visibility(share is not None)
        self._bar.set_value(share or 0.0)
        self._progress.set_text(progress_text(run, time.time(), self._view.episodes_played()))
        self._cause.show(run, list(self._view.details.last_lines), self._view.is_removed)
        self._show_actions(run)
        self._show_findings(self._view.findings())

    async def show_lineage(self) -> None:
        """Show where the run came from, and what came of it; asked for once a while."""
        run = self._view.run
        try:
            page = await self._view.live.need_client().list_runs(
                parent_run_id=run.run_id, page_size=_MOST_CHILDREN, with_archived=True
            )
        except MosaicError:
            return
        self._lineage.set_visibility(bool(run.parent_run_id or page.runs))
        self._lineage.clear()
        with self._lineage:
            if run.parent_run_id:
                word = "Evaluates" if run.mode == "policy_eval" else "Resumed from"
                _links(word, [(run.parent_run_id, run.parent_run_id[-6:])])
            for mode, word in _KINDS.items():
                found = [(each.run_id, each.run_id[-6:]) for each in page.runs if each.mode == mode]
                if found:
                    _links(word, found)

    def _show_actions(self, run: pb.Run) -> None:
        commands = [] if self._view.is_removed else commands_for(run)
        forms = {} if self._view.is_removed else forms_for(run)
        names = (*(command.text for command in commands), *forms)
        if names == self._shown_actions:
            return
        self._shown_actions = names
        self._actions.clear()
        with self._actions:
            for command in commands:
                command_button(self._view.live, command, self._then)
            if forms:
                with ui.dropdown_button("More", auto_close=True).props("outline no-caps"):
                    for text, address in forms.items():
                        ui.item(text, on_click=lambda address=address: ui.navigate.to(address))

    async def _then(self, command: RunCommand, run: pb.Run) -> None:
        if command.opens:
            ui.navigate.to(f"/runs/{run.run_id}")
            return
        await self._view.refresh()
        self.refresh()
        if command.words[0] == "rm":
            ui.notify("The run is in the bin. Restore takes it out again.", type="info")

    def _show_findings(self, findings: list[Finding]) -> None:
        """Show a chip for each, and a notice the first time."""
        kinds = {each.kind for each in findings}
        self._findings.set_visibility(bool(kinds))
        for kind in list(self._chips):
            if kind not in kinds:
                self._chips.pop(kind).delete()
        for each in findings:
            if each.kind not in self._chips:
                with self._findings:
                    self._chips[each.kind] = _chip(each)
            if each.kind not in self._told and not has_ended(self._view.run):
                self._told.add(each.kind)
                ui.notify(f"{each.title}: {each.detail}", type="warning", multi_line=True)


class _CausePanel:
    """Why the run is as it is: shown where there is something to say."""

    def __init__(self) -> None:
        with ui.column().classes("w-full gap-1").props("role=status") as self._panel:
            self._what = ui.label().classes("font-bold break-words")
            self._advice = ui.label().classes("break-words")
            self._lines = ui.label().classes(
                "mosaic-mono whitespace-pre-wrap break-all max-h-48 overflow-auto w-full"
            )

    def show(self, run: pb.Run, last_lines: list[str], is_removed: bool) -> None:
        cause = explain(run, last_lines)
        what, advice = cause.what, cause.advice
        if is_removed:
            what, advice = "This run was removed for good; the page shows what was.", ""
        elif run.HasField("deleted_at"):
            what, advice = (
                "This run is in the bin.",
                "Restore takes it out; after 7 days it is gone.",
            )
        lines = "\n".join(last_lines[-8:]) if run.outcome == "failed" else ""
        for label, text in ((self._what, what), (self._advice, advice), (self._lines, lines)):
            label.set_text(text)
            label.set_visibility(bool(text))
        self._panel.set_visibility(bool(what or advice or lines))


def progress_text(run: pb.Run, now: float, episodes: int = 0) -> str:
    """Return steps, speed and times as one line; an evaluation counts its `episodes`."""
    total = run.total_timesteps if run.HasField("total_timesteps") else None
    of = f" of {formatting.count(total)}" if total else ""
    parts = [f"{formatting.count(run.step)}{of} steps"]
    if run.mode == "policy_eval":
        parts = [f"{episodes:,} episodes played"]
    if run.steps_per_second:
        parts.append(f"{formatting.count(run.steps_per_second)} steps/s")
    if run.HasField("started_at"):
        end = run.ended_at if run.HasField("ended_at") else now
        parts.append(f"{formatting.duration(max(0.0, end - run.started_at))} so far")
        if has_ended(run):
            parts[-1] = parts[-1].replace(" so far", " in all")
    left = seconds_left(run)
    if left is not None:
        parts.append(f"{formatting.duration(left)} left")
    return " · ".join(parts)


def seconds_left(run: pb.Run) -> float | None:
    if has_ended(run) or not run.steps_per_second or not run.HasField("total_timesteps"):
        return None
    return max(0, run.total_timesteps - run.step) / run.steps_per_second


def _share(run: pb.Run) -> float | None:
    if not run.HasField("total_timesteps") or run.total_timesteps <= 0:
        return None
    return min(1.0, run.step / run.total_timesteps)


def _title(run: pb.Run) -> str:
    seed = f", seed {run.seed}" if run.HasField("seed") else ""
    what = "Evaluation of " if run.mode == "policy_eval" else ""
    return f"{what}{run.algo} on {run.env_id}{seed}"


def _links(word: str, runs: list[tuple[str, str]]) -> None:
    with ui.row().classes("gap-1 items-center"):
        ui.label(word).classes("mosaic-muted")
        for run_id, text in runs:
            ui.link(f"…{text}", f"/runs/{run_id}").classes("mosaic-mono")


def _chip(finding: Finding) -> ui.element:
    with (
        ui.row()
        .classes("items-start gap-2 no-wrap rounded-lg px-2 py-1 border")
        .style("border-color: #d97706") as chip
    ):
        ui.icon("warning", color="warning").props("aria-hidden=true")
        with ui.column().classes("gap-0"):
            ui.label(finding.title).classes("font-bold")
            ui.label(finding.detail).classes("text-sm")
            ui.label(finding.advice).classes("text-sm mosaic-muted")
    return chip
