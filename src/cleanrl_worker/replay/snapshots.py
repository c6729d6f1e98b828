"""What a checkpoint says about its replay rows: the document, and every way it can be wrong."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from cleanrl_worker.replay.ring import MAX_SEGMENT_BYTES, Column, Ring
from mosaic.contracts.errors import ConfigError

VERSION = 1
TAIL_FILE = "replay-tail.zst"

_SHA256 = re.compile(r"[0-9a-f]{64}")
_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class RowFile:
    """A file that holds the rows from start to stop, as it must lie on the disk."""

    file: str
    start: int
    stop: int
    size_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The rows of a ring at one moment, and the files that hold them, oldest first."""

    capacity: int
    total: int
    columns: Mapping[str, Column]
    segments: tuple[RowFile, ...]
    tail: RowFile | None

    def as_json(self) -> dict[str, Any]:
        return {
            "version": VERSION,
            "capacity": self.capacity,
            "total": self.total,
            "columns": {
                name: {"dtype": column.dtype, "shape": list(column.shape)}
                for name, column in self.columns.items()
            },
            "segments": [asdict(segment) for segment in self.segments],
            "tail": None if self.tail is None else asdict(self.tail),
        }

    @property
    def files(self) -> tuple[RowFile, ...]:
        return self.segments if self.tail is None else (*self.segments, self.tail)

    def check_fits(self, ring: Ring) -> None:
        """Refuse a snapshot of another buffer, or one whose files do not add up to the ring."""
        if self.capacity != ring.capacity:
            raise ConfigError(
                f"The checkpoint's replay buffer has {self.capacity} rows, this run's "
                f"{ring.capacity}.",
                hint=f"Resume with buffer_size={self.capacity}.",
            )
        for name in sorted(self.columns.keys() | ring.columns.keys()):
            saved, wanted = self.columns.get(name), ring.columns.get(name)
            if saved != wanted:
                raise ConfigError(
                    f"replay column {name!r} is {_described(saved)} in the checkpoint, "
                    f"{_described(wanted)} in this run: resume with the same environment and "
                    "settings."
                )
        self._check_rows(ring)

    def _check_rows(self, ring: Ring) -> None:
        reached = live_from = ring.live_from(self.total)
        for index, part in enumerate(self.files):
            begins = part.start <= reached if index == 0 else part.start == reached
            if not begins or part.stop <= live_from or part.stop > self.total:
                raise _wrong(f"{part.file} holds rows {part.start} to {part.stop} out of order")
            if (part.stop - part.start) * ring.row_bytes > MAX_SEGMENT_BYTES:
                raise _wrong(
                    f"{part.file} claims rows of {(part.stop - part.start) * ring.row_bytes} "
                    f"bytes; at most {MAX_SEGMENT_BYTES} are allowed"
                )
            reached = part.stop
        if reached != self.total:
            raise _wrong(f"rows {reached} to {self.total} are in no file")


def segment_file(start: int, stop: int, sha256: str) -> str:
    """Name a segment after its rows and content; 16 digits tell any two of a run apart."""
    return f"rows-{start:012d}-{stop:012d}-{sha256[:16]}.zst"


def parse_snapshot(document: object) -> Snapshot:
    """Read a snapshot that may have been made by anyone."""
    fields = _fields(document, "", "version", "capacity", "total", "columns", "segments", "tail")
    version = _typed(fields["version"], int, "version")
    if version != VERSION:
        raise ConfigError(
            f"replay.version={version} is not allowed: this program reads {VERSION}.",
            hint="A newer checkpoint needs a newer program.",
        )
    columns = _typed(fields["columns"], dict, "columns")
    segments = _typed(fields["segments"], list, "segments")
    tail = fields["tail"]
    return Snapshot(
        capacity=_count(fields["capacity"], "capacity"),
        total=_count(fields["total"], "total"),
        columns={name: _column(value, f"columns.{name}") for name, value in columns.items()},
        segments=tuple(_segment(item, f"segments[{i}]") for i, item in enumerate(segments)),
        tail=None if tail is None else _tail(tail),
    )


def _column(document: object, path: str) -> Column:
    fields = _fields(document, path, "dtype", "shape")
    shape = _typed(fields["shape"], list, f"{path}.shape")
    return Column(
        dtype=_typed(fields["dtype"], str, f"{path}.dtype"),
        shape=tuple(_count(length, f"{path}.shape") for length in shape),
    )


def _segment(document: object, path: str) -> RowFile:
    segment = _row_file(document, path)
    # The one name a segment can have: nothing that leads out of the directory is among them.
    if segment.file != segment_file(segment.start, segment.stop, segment.sha256):
        raise _wrong(f"{path}.file={_shown(segment.file)} is not the name of its rows and content")
    return segment


def _tail(document: object) -> RowFile:
    tail = _row_file(document, "tail")
    if tail.file != TAIL_FILE:
        raise _wrong(f"tail.file={_shown(tail.file)} is not {TAIL_FILE!r}")
    return tail


def _row_file(document: object, path: str) -> RowFile:
    fields = _fields(document, path, "file", "start", "stop", "size_bytes", "sha256")
    row_file = RowFile(
        file=_typed(fields["file"], str, f"{path}.file"),
        start=_count(fields["start"], f"{path}.start"),
        stop=_count(fields["stop"], f"{path}.stop"),
        size_bytes=_count(fields["size_bytes"], f"{path}.size_bytes"),
        sha256=_typed(fields["sha256"], str, f"{path}.sha256"),
    )
    if row_file.start >= row_file.stop:
        raise _wrong(f"{path} ends at row {row_file.stop}, before it begins at {row_file.start}")
    if not _SHA256.fullmatch(row_file.sha256):
        raise _wrong(f"{path}.sha256={_shown(row_file.sha256)} is not 64 hexadecimal digits")
    return row_file


def _fields(document: object, path: str, *keys: str) -> dict[str, Any]:
    fields = _typed(document, dict, path or "the document")
    if set(fields) != set(keys):
        where = f"{path} has" if path else "it has"
        raise _wrong(f"{where} the keys {_shown(sorted(map(str, fields)))}, not {sorted(keys)}")
    return fields


def _typed(value: object, kind: type[_Value], path: str) -> _Value:
    # bool is an int to isinstance, and no count.
    if not isinstance(value, kind) or isinstance(value, bool):
        raise _wrong(f"{path}={_shown(value)} is no {kind.__name__}")
    return value


def _count(value: object, path: str) -> int:
    count = _typed(value, int, path)
    if not 0 <= count < 2**63:
        raise _wrong(f"{path}={_shown(count)} is not a count")
    return count


def _described(column: Column | None) -> str:
    return "absent" if column is None else f"{column.dtype}{list(column.shape)}"


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _wrong(what: str) -> ConfigError:
    return ConfigError(
        f"The checkpoint's list of replay rows is damaged: {what}.",
        hint="Resume from another checkpoint.",
    )
