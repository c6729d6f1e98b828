"""W&B's own files, read without W&B: what a run logged, whether it was ever sent or not.

A `run-ID.wandb` file is a log in LevelDB's format behind a header of seven bytes: blocks of 32 KiB
hold pieces, pieces make records, and a record is a protobuf message of which a few fields matter.
The last record of a run in progress may be half written: reading ends before it.
"""

from __future__ import annotations

import contextlib
import json
import math
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_IDENTITY = b":W&B"
_HEADER_BYTES = 7
_BLOCK_BYTES = 32 << 10
_FULL, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4
_OFFLINE = "offline-run-"
MOST_POINTS = 1_000_000

# Numbers of fields in W&B's messages.
_HISTORY, _SUMMARY, _CONFIG, _RUN = 2, 3, 5, 17
_KEY, _NESTED_KEY, _JSON = 1, 2, 16
_NONE, _BOOLEAN, _INTEGER, _NUMBER, _TEXT, _JSON_TEXT = 3, 4, 5, 6, 7, 8


@dataclass(slots=True)
class WandbLog:
    """One run as W&B's file tells it. `curves` holds (x, value) by name."""

    path: Path
    run_id: str = ""
    entity: str = ""
    project: str = ""
    name: str = ""
    config: dict[str, Any] = field(default_factory=dict)
    summary: dict[str, Any] = field(default_factory=dict)
    curves: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    is_cut_short: bool = False  # more points than are kept

    @property
    def is_offline(self) -> bool:
        return self.path.parent.name.startswith(_OFFLINE)

    @property
    def run_path(self) -> str | None:
        """Return entity/project/run; an offline run may not know its entity."""
        if not self.run_id or not self.project:
            return None
        return "/".join(filter(None, (self.entity, self.project, self.run_id)))


def find_wandb_file(folder: Path) -> Path | None:
    """Return the newest run's file under a `wandb` folder.

    Of two that began in one second it is the offline one: it follows an attempt to go online.
    """

    def begun(path: Path) -> tuple[str, bool]:
        name = path.parent.name
        return name.partition("run-")[2], name.startswith(_OFFLINE)

    with contextlib.suppress(OSError):
        files = [path for path in folder.glob("*run-*/run-*.wandb") if path.is_file()]
        return max(files, key=begun, default=None)
    return None


def read_identity(path: Path) -> WandbLog:
    """Return who the run is, from the first records."""
    log = WandbLog(path)
    for record in _records(path):
        if _RUN in (message := _fields(record)):
            _take_run(log, message[_RUN][-1])
            break
    return log


def read_log(path: Path) -> WandbLog:
    """Return everything that W&B's file tells of a run."""
    log = WandbLog(path)
    points = 0
    for record in _records(path):
        message = _fields(record)
        if _RUN in message:
            _take_run(log, message[_RUN][-1])
        for part in message.get(_CONFIG, ()):
            log.config |= _items(part)
        for part in message.get(_SUMMARY, ()):
            log.summary |= _items(part)
        for part in message.get(_HISTORY, ()):
            row = _items(part)
            points += len(row)
            if points <= MOST_POINTS:
                _take_history(log, row)
            else:
                log.is_cut_short = True
    return log


def _take_run(log: WandbLog, data: bytes) -> None:
    fields = _fields(data)
    names = {"run_id": 1, "entity": 2, "project": 3, "name": 8}
    for name, number in names.items():
        for value in fields.get(number, ()):
            setattr(log, name, _text(value))
    for part in fields.get(4, ()):  # its config
        log.config |= _items(part)


def _take_history(log: WandbLog, row: dict[str, Any]) -> None:
    """Add a row to the curves, over the x that it names, or over W&B's own count of rows."""
    x = row.get("global_step", row.get("_step"))
    for name, value in row.items():
        own = row.get("episode", x) if name.startswith("eval/") else x
        is_point = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_point or name.startswith("_") or name in ("global_step", "episode"):
            continue
        if isinstance(own, int | float) and math.isfinite(float(value)):
            log.curves.setdefault(name, []).append((float(own), float(value)))


def _items(data: bytes) -> dict[str, Any]:
    """Return the keys and values of a history, summary or config record."""
    found: dict[str, Any] = {}
    for item in _fields(data).get(1, ()):
        if not isinstance(item, bytes):
            continue
        fields = _fields(item)
        names = [_text(part) for part in fields.get(_NESTED_KEY, ()) or fields.get(_KEY, ())]
        if names:
            found["/".join(names)] = _value(fields)
    return found


def _value(fields: dict[int, list[Any]]) -> Any:
    for number in (_JSON, _JSON_TEXT):
        for text in fields.get(number, ()):
            with contextlib.suppress(ValueError):
                return json.loads(_text(text))
    if _BOOLEAN in fields:
        return bool(fields[_BOOLEAN][-1])
    if _INTEGER in fields:
        number = fields[_INTEGER][-1]
        return number - 2**64 if number >= 2**63 else number
    if _NUMBER in fields:
        return struct.unpack("<d", fields[_NUMBER][-1])[0]
    return _text(fields[_TEXT][-1]) if _TEXT in fields else None


def _text(data: Any) -> str:
    return data.decode("utf-8", errors="replace") if isinstance(data, bytes) else str(data)


def _records(path: Path) -> Iterator[bytes]:
    """Yield the records of the log, as far as they are whole."""
    try:
        data = path.read_bytes()
    except OSError:
        return
    if data[:4] != _IDENTITY:
        return
    place = _HEADER_BYTES
    pieces: list[bytes] = []
    while place + _HEADER_BYTES <= len(data):
        left = _BLOCK_BYTES - place % _BLOCK_BYTES
        if left < _HEADER_BYTES:  # too little for a piece: zeros, and the next block
            place += left
            continue
        checksum, length, kind = struct.unpack_from("<IHB", data, place)
        piece = data[place + _HEADER_BYTES : place + _HEADER_BYTES + length]
        is_whole = len(piece) == length and zlib.crc32(piece, zlib.crc32(bytes([kind]))) == checksum
        if kind not in (_FULL, _FIRST, _MIDDLE, _LAST) or not is_whole:
            return
        place += _HEADER_BYTES + length
        pieces = [piece] if kind in (_FULL, _FIRST) else [*pieces, piece]
        if kind in (_FULL, _LAST):
            yield b"".join(pieces)


def _fields(data: bytes) -> dict[int, list[Any]]:
    """Return the fields of a protobuf message by number; a damaged one ends where it is damaged."""
    found: dict[int, list[Any]] = {}
    place = 0
    try:
        while place < len(data):
            tag, place = _varint(data, place)
            number, kind = tag >> 3, tag & 7
            value: Any
            if kind == 0:
                value, place = _varint(data, place)
            elif kind == 2:
                length, place = _varint(data, place)
                value, place = data[place : place + length], place + length
            elif kind in (1, 5):
                width = 8 if kind == 1 else 4
                value, place = data[place : place + width], place + width
            else:
                break
            found.setdefault(number, []).append(value)
    except IndexError:
        pass
    return found


def _varint(data: bytes, place: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = data[place]
        place += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, place
        shift += 7
        if shift > 63:
            raise IndexError
