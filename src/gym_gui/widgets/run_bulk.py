"""What can be done with the selected runs, each also as a command."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from nicegui import ui

from gym_gui.widgets.copy_command import command_text

Act = Callable[[list[str]], Awaitable[None]]
Command = Callable[[Sequence[str]], Awaitable[str]]


@dataclass(frozen=True, slots=True)
class Choice:
    """An action: its button, and the commands that do the same; what only looks has none."""

    label: str
    icon: str
    help: str
    act: Act
    command: Command | None = None
    colour: str = "primary"
    fewest: int = 1


class BulkBar:
    """Buttons that are always in their place; without a selection they are disabled."""

    def __init__(self, choices: Sequence[Choice], selected: Callable[[], list[str]]) -> None:
        self._choices = choices
        self._selected = selected
        self._buttons: list[ui.button] = []
        with ui.row().classes("w-full items-center gap-2"):
            self._count = ui.label().classes("mosaic-muted w-24").props("aria-live=polite")
            for choice in choices:
                self._buttons.append(self._button(choice))
            self._commands = (
                ui.button("Commands", icon="terminal", on_click=self._show_commands)
                .props("flat dense no-caps")
                .tooltip("The same actions as commands for a terminal")
            )

    def _button(self, choice: Choice) -> ui.button:
        async def click() -> None:
            await choice.act(self._selected())

        return (
            ui.button(choice.label, icon=choice.icon, on_click=click)
            .props(f"outline dense no-caps color={choice.colour}")
            .classes("px-2 mosaic-bulk")
            .tooltip(choice.help)
        )

    def refresh(self) -> None:
        """Follow the selection."""
        count = len(self._selected())
        self._count.set_text(f"{count} selected")
        for choice, button in zip(self._choices, self._buttons, strict=True):
            button.set_enabled(count >= choice.fewest)
        self._commands.set_enabled(count > 0)

    async def _show_commands(self) -> None:
        run_ids = self._selected()
        texts = {
            choice.label: await choice.command(run_ids)
            for choice in self._choices
            if choice.command is not None and len(run_ids) >= choice.fewest
        }
        with ui.dialog(value=True), ui.card().classes("w-full max-w-3xl"):
            ui.label("The same as commands").classes("text-lg font-bold").props(
                "role=heading aria-level=2"
            )
            for label, text in texts.items():
                ui.label(label).classes("font-bold")
                # Not ui.code: it reads Markdown, and the words may come from anybody.
                ui.label(text).classes("mosaic-mono whitespace-pre-wrap break-all w-full")


def one_command(*words: str) -> Command:
    """Return the command that takes every run at once."""

    async def command(run_ids: Sequence[str]) -> str:
        return command_text([*words, *run_ids])

    return command


def one_each(word: str, *flags: str) -> Command:
    """Return one command for each run."""

    async def command(run_ids: Sequence[str]) -> str:
        return "\n".join(command_text([word, run_id, *flags]) for run_id in run_ids)

    return command
