"""Handing run configs to the daemon, and what the page says about it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any

from nicegui import ui

from gym_gui.live import Live
from mosaic.client.faults import DaemonFault
from mosaic.contracts.errors import MosaicError
from mosaic.contracts.submitting import environment_secrets
from mosaic.proto import trainer_pb2 as pb

_FAULTS = (MosaicError, DaemonFault, OSError)


def line_of(error: Exception) -> str:
    """Return an error as one line; a fault of the daemon's is in its log."""
    if isinstance(error, MosaicError):
        return error.one_line()
    return f"{' '.join(str(error).split())}. The daemon's log has more: mosaic logs --daemon."


def tell(error: Exception) -> None:
    ui.notify(line_of(error), type="negative", multi_line=True, close_button="Close", timeout=0)


class Told:
    """Turns what goes wrong inside into a notice on the page."""

    async def __aenter__(self) -> None:
        return None

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        if not isinstance(error, _FAULTS):
            return False
        tell(error)
        return True


@asynccontextmanager
async def busy(*buttons: ui.button) -> AsyncIterator[None]:
    """Keep the buttons from being pressed twice."""
    for button in buttons:
        button.disable()
    try:
        yield
    finally:
        for button in buttons:
            button.enable()


async def submit_all(
    live: Live, documents: Sequence[Mapping[str, Any]], secrets: Mapping[str, str] | None = None
) -> list[pb.Run]:
    """Submit every run config; the secrets of the GUI's own environment go along."""
    client = await live.await_client()
    given = {**environment_secrets(), **(secrets or {})}
    return [(await client.submit(document, secrets=given)).run for document in documents]


def open_runs(runs: Sequence[pb.Run]) -> None:
    """Show what was submitted: the run, or the seeds of one experiment as one curve."""
    if len(runs) == 1:
        ui.navigate.to(f"/runs/{runs[0].run_id}")
    else:
        ui.navigate.to(f"/compare?runs={','.join(run.run_id for run in runs)}")
