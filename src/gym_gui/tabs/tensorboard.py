"""TensorBoard: the real one, over the event files of a run, started when the tab is opened."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

from nicegui import background_tasks, ui

from gym_gui.boards import Board, Boards
from gym_gui.run_view import RunView, dig, read_document
from gym_gui.tabs.shown import Shown, once_begun
from gym_gui.widgets.command_line import command_line
from gym_gui.widgets.empty import empty
from mosaic.contracts.errors import MosaicError
from mosaic.proto import trainer_pb2 as pb

# TensorBoard draws again by itself only where its own settings say so; whoever switched that off
# keeps it off.
_OPEN = """
(() => {{
  const key = '_tb_global_settings';
  const settings = JSON.parse(localStorage.getItem(key) || '{{}}');
  if (settings.autoReload === undefined) {{
    const own = {{...settings, autoReload: true, autoReloadPeriodInMs: 15000}};
    localStorage.setItem(key, JSON.stringify(own));
  }}
  document.getElementById('{id}').src = '{address}';
}})()"""


def build(view: RunView) -> Shown:
    return once_begun(view, _build)


def _build(view: RunView) -> Shown:
    files = event_files(view.details)
    if files is None:
        empty("This run writes no TensorBoard files: its tensorboard_dir is null.")
        return Shown()
    shown = BoardView(view.live.boards, {board_name(view.run.algo, view.run_id): files})
    with ui.row().classes("w-full items-center gap-2"):
        ui.label("The same files in a TensorBoard of your own:").classes("mosaic-muted")
        command_line(shlex.join(["tensorboard", "--logdir", str(files)]))
    return Shown(shown.refresh)


def event_files(details: pb.RunDetails) -> Path | None:
    """Return the folder of a run's event files; None where it writes none.

    The manifest may have come with an archive: what it names outside the run is not shown.
    """
    files = dig(read_document(details.manifest_json), "artifacts", "tensorboard")
    folder = files.get("relative_path") if isinstance(files, dict) else None
    if not isinstance(folder, str) or "\0" in folder or not files.get("enabled"):
        return None
    root = Path(details.run_dir).resolve()
    path = (root / folder).resolve()
    return path if path.is_relative_to(root) else None


def board_name(algo: str, run_id: str) -> str:
    """Return what a run is called in TensorBoard, which takes it for a folder."""
    return f"{algo}-{run_id}".replace("/", "-").replace(":", "-")


class BoardView:
    """A TensorBoard in the page; it is kept alive for as long as `refresh` is called."""

    def __init__(self, boards: Boards, folders: Mapping[str, Path]) -> None:
        self._boards = boards
        self._board: Board | None = None
        self._panel = ui.column().classes("w-full gap-2")
        try:
            self._board = boards.open(folders)
        except MosaicError as error:
            with self._panel:
                empty(error.one_line())
            return
        with self._panel, ui.row().classes("w-full items-center gap-3 mosaic-panel"):
            ui.spinner()
            ui.label("TensorBoard starts. That takes a few seconds.").props("role=status")
        background_tasks.create(self._show(self._board))

    def refresh(self) -> None:
        if self._board is not None:
            self._board.touch()

    async def _show(self, board: Board) -> None:
        is_ready = await board.is_ready()
        if self._panel.is_deleted:
            return
        self._panel.clear()
        with self._panel:
            if is_ready:
                _frame(board.address)
            else:
                empty(f"TensorBoard did not start. {board.last_words()}")


def _frame(address: str) -> None:
    frame = ui.element("iframe").props(
        'title="TensorBoard" '
        'sandbox="allow-scripts allow-same-origin allow-downloads allow-popups allow-forms"'
    )
    frame.classes("w-full border-0 rounded")
    frame.style("height: calc(100vh - 16rem); min-height: 32rem")
    ui.run_javascript(_OPEN.format(id=frame.html_id, address=address))
