"""Buttons for what can be done to a run, each with the command that does the same."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from nicegui import ui

from gym_gui.forms.submitting import Told, busy
from gym_gui.live import Live
from gym_gui.run_commands import RunCommand
from gym_gui.widgets.copy_command import copy_command
from mosaic.proto import trainer_pb2 as pb

Then = Callable[[RunCommand, pb.Run], Awaitable[None]]


def command_button(live: Live, command: RunCommand, then: Then, *, is_small: bool = False) -> None:
    """Add the button, and a small one beside it that copies the command."""

    async def act() -> None:
        async with busy(button), Told():
            await then(command, await command.act(await live.await_client()))

    with ui.row().classes("items-center gap-0 no-wrap"):
        button = ui.button(command.text, icon=command.icon, on_click=act)
        button.props("outline no-caps" + (" dense size=sm" if is_small else ""))
        button.tooltip(command.help)
        copy = copy_command(command.words, label="")
        copy.props("round size=sm").props(f"aria-label='Copy {command.text} as command'")
        copy.tooltip(f"Copy as command: mosaic {command.words[0]} …")
