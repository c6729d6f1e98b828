"""Files: all that the run has written."""

from __future__ import annotations

import asyncio

from nicegui import ui

from gym_gui import formatting
from gym_gui.dataset_route import dataset_address, dataset_files
from gym_gui.run_files import MOST_FILES, RunFile, file_address, list_files
from gym_gui.run_view import RunView
from gym_gui.tabs.shown import Shown
from gym_gui.widgets.empty import empty


def build(view: RunView) -> Shown:
    listing = _Listing(view)
    return Shown(listing.refresh)


class _Listing:
    def __init__(self, view: RunView) -> None:
        self._view = view
        self._shown: list[RunFile] | None = None
        self._revision = -1
        with ui.column().classes("w-full mosaic-panel gap-1"):
            ui.label(str(view.run_dir)).classes("mosaic-mono break-all")
            self._sum = ui.label().classes("mosaic-muted")
            self._dataset = ui.link("Download as a Minari dataset", dataset_address(view.run_id))
            self._dataset.set_visibility(False)
        self._body = ui.column().classes("w-full")

    async def refresh(self) -> None:
        if self._revision == self._view.revision and self._shown is not None:
            return
        self._revision = self._view.revision
        files = await asyncio.to_thread(list_files, self._view.run_dir)
        if files == self._shown:
            return
        has_dataset = await asyncio.to_thread(dataset_files, self._view.run_dir)
        self._dataset.set_visibility(bool(has_dataset))
        is_first, self._shown = self._shown is None, files
        total = formatting.size(sum(file.size_bytes for file in files))
        more = f"; only the first {MOST_FILES:,} are listed" if len(files) == MOST_FILES else ""
        self._sum.set_text(f"{len(files):,} files, {total}{more}")
        if is_first or not files:
            self._body.clear()
            with self._body:
                self._build(files)
        elif files:
            self._table.rows = [_row(self._view.run_id, file) for file in files]
            self._table.update()

    def _build(self, files: list[RunFile]) -> None:
        if not files:
            empty("The run has written no file.")
            return
        columns = [
            _column("name", "file", "left"),
            _column("size_bytes", "size", "right"),
            _column("modified_at", "changed", "right"),
        ]
        rows = [_row(self._view.run_id, file) for file in files]
        self._table = ui.table(rows=rows, columns=columns, row_key="name", pagination=50)
        self._table.classes("w-full").props("dense flat wrap-cells")
        self._table.add_slot(
            "body-cell-name",
            '<q-td :props="props"><a :href="props.row.address" download '
            'class="mosaic-mono break-all">{{ props.row.name }}</a></q-td>',
        )
        for name in ("size_bytes", "modified_at"):
            shown = f"{{{{ props.row.{name}_text }}}}"
            cell = f'<q-td :props="props" class="mosaic-number">{shown}</q-td>'
            self._table.add_slot(f"body-cell-{name}", cell)


def _column(name: str, label: str, align: str) -> dict[str, object]:
    return {"name": name, "label": label, "field": name, "sortable": True, "align": align}


def _row(run_id: str, file: RunFile) -> dict[str, object]:
    return {
        "name": file.name,
        "size_bytes": file.size_bytes,
        "size_bytes_text": formatting.size(file.size_bytes),
        "modified_at": file.modified_at,
        "modified_at_text": formatting.age(file.modified_at),
        "address": file_address(run_id, file.name),
    }
