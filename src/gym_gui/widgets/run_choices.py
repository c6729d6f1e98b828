"""The actions of the list of runs, and what the page says when one is done."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from nicegui import ui

from gym_gui import run_actions
from gym_gui.export_route import export_address
from gym_gui.failures import FAILURES, failure_line
from gym_gui.live import Live
from gym_gui.reproducing import reproduce_words
from gym_gui.run_actions import Action, Done
from gym_gui.run_rows import as_table
from gym_gui.widgets.copy_command import command_text
from gym_gui.widgets.run_bulk import Choice, one_command, one_each
from gym_gui.widgets.undo import UndoBar


def runs_word(count: int) -> str:
    return "1 run" if count == 1 else f"{count} runs"


@dataclass(frozen=True, slots=True)
class Desk:
    """Carries actions out for a page: `done` is called after each, to show the list anew."""

    live: Live
    undo_bar: UndoBar
    done: Callable[[], Awaitable[None]]

    def run_choices(self) -> list[Choice]:
        """Return what can be done with runs that are not in the bin."""
        return [
            Choice(
                "Compare",
                "stacked_line_chart",
                "Their curves in one chart",
                self.compare,
                fewest=2,
            ),
            Choice("TensorBoard", "insights", "Their event files in TensorBoard", self.tensorboard),
            Choice(
                "Cancel",
                "stop",
                "End them; each saves a checkpoint first if it can",
                self.cancel,
                one_command("cancel"),
                "negative",
            ),
            Choice(
                "Resume",
                "restart_alt",
                "Go on from the last exact checkpoint, as a new run",
                self.resume,
                one_each("resume", "--detach"),
            ),
            Choice(
                "Clone",
                "content_copy",
                "Start the same again, seed included",
                self.clone,
                self.clone_commands,
            ),
            Choice(
                "Table",
                "table_view",
                "Their figures as CSV, one run a line",
                self.table,
                one_each("show", "--json"),
            ),
            Choice(
                "Export",
                "archive",
                "Download each as one file, checkpoints left out",
                self.export,
                one_each("export"),
            ),
            Choice(
                "Archive",
                "inventory_2",
                "Hide ended runs from lists; nothing of them is removed",
                self.archive,
                one_command("archive"),
            ),
            Choice(
                "Delete",
                "delete",
                "Move them to the bin, which keeps them for 7 days",
                self.delete,
                one_command("rm"),
                "negative",
            ),
        ]

    def bin_choices(self) -> list[Choice]:
        """Return what can be done with runs in the bin."""
        return [
            Choice(
                "Restore",
                "restore_from_trash",
                "Bring them back to the list",
                self.restore,
                one_command("restore"),
            ),
            Choice(
                "Delete for good",
                "delete_forever",
                "Remove every file of theirs; this cannot be undone",
                self.ask_purge,
                one_command("rm", "--purge"),
                "negative",
            ),
        ]

    async def compare(self, run_ids: list[str]) -> None:
        ui.navigate.to(f"/compare?runs={','.join(run_ids)}")

    async def tensorboard(self, run_ids: list[str]) -> None:
        ui.navigate.to(f"/tensorboard?runs={','.join(run_ids)}")

    async def export(self, run_ids: list[str]) -> None:
        for run_id in run_ids:
            ui.download.from_url(export_address(run_id))

    async def archive(self, run_ids: list[str]) -> None:
        done = await self._act(run_ids, run_actions.archive)
        if done.runs:
            ui.notify(f"{runs_word(len(done.runs))} archived: hidden here, and kept whole.")

    async def cancel(self, run_ids: list[str]) -> None:
        done = await self._act(run_ids, run_actions.cancel)
        if done.runs:
            ui.notify(f"{runs_word(len(done.runs))} told to stop.")

    async def resume(self, run_ids: list[str]) -> None:
        done = await self._act(run_ids, run_actions.resume)
        if done.runs:
            ui.notify(f"{runs_word(len(done.runs))} started, from the last exact checkpoint.")

    async def clone(self, run_ids: list[str]) -> None:
        done = await self._act(run_ids, run_actions.clone)
        if done.runs:
            ui.notify(f"{runs_word(len(done.runs))} started.")

    async def clone_commands(self, run_ids: Sequence[str]) -> str:
        """Return the commands that make the same runs, as far as they can be told."""
        lines = []
        for run_id in run_ids:
            try:
                client = self.live.need_client()
                words = await reproduce_words(client, await client.get_run(run_id))
                lines.append(command_text(words))
            except FAILURES as error:
                lines.append(f"# {run_id}: {failure_line(error)}")
        return "\n".join(lines)

    async def table(self, run_ids: list[str]) -> None:
        """Hand out the figures of the runs as a table that every spreadsheet reads."""
        found = await self._act(run_ids, run_actions.look)
        if found.runs:
            ui.download.content(as_table(found.runs), "runs.csv", "text/csv")

    async def delete(self, run_ids: list[str]) -> None:
        done = await self._act(run_ids, run_actions.delete)
        if not done.runs:
            return
        deleted = [run.run_id for run in done.runs]

        async def undo() -> None:
            await self.restore(deleted)

        self.undo_bar.show(f"{runs_word(len(deleted))} moved to the bin.", undo)

    async def restore(self, run_ids: list[str]) -> None:
        done = await self._act(run_ids, run_actions.restore)
        if done.runs:
            ui.notify(f"{runs_word(len(done.runs))} brought back.")

    async def ask_purge(self, run_ids: list[str]) -> None:
        """Ask for the number of runs to be typed: there is no way back."""
        wanted = f"delete {runs_word(len(run_ids))}"
        with ui.dialog() as dialog, ui.card():
            ui.label(f"Remove {runs_word(len(run_ids))} with every file, for good?").classes(
                "text-lg font-bold"
            ).props("role=heading aria-level=2")
            field = ui.input(f"Type: {wanted}").props("outlined dense autofocus").classes("w-full")
            with ui.row().classes("w-full justify-end"):
                ui.button("Keep them", on_click=lambda: dialog.submit(False)).props("flat no-caps")
                button = ui.button("Delete for good", on_click=lambda: dialog.submit(True))
                button.props("no-caps color=negative")
                button.bind_enabled_from(
                    field, "value", backward=lambda text: (text or "").strip() == wanted
                )
        if await dialog:
            done = await self._act(run_ids, run_actions.purge)
            if done.runs:
                ui.notify(f"{runs_word(len(done.runs))} removed for good.")
        dialog.delete()

    async def _act(self, run_ids: list[str], action: Action) -> Done:
        try:
            done = await run_actions.act_on_all(self.live.need_client(), run_ids, action)
        except FAILURES as error:
            done = Done((), (failure_line(error),))
        for problem in done.problems:
            ui.notify(problem, type="negative", multi_line=True, timeout=10_000)
        await self.done()
        return done
