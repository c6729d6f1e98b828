"""An archive from elsewhere: looked at as a whole before a byte of it is written anywhere.

Nothing in it is trusted: a name may lead out of the run, a link may point anywhere, and a few
kilobytes may unpack to more than the disk holds.
"""

from __future__ import annotations

import csv
import io
import json
import stat
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Any

from mosaic.contracts import run_archive as names
from mosaic.contracts.errors import ConfigError, StorageError
from mosaic.contracts.run_archive import COLUMNS, Header, read_header
from mosaic.trainer.store.metrics import Point

MOST_ENTRIES = 100_000
# An archive may unpack to this many times its size, or to the size below if that is more.
MOST_TIMES = 200
ALWAYS_BYTES = 1 << 30
MOST_DOCUMENT_BYTES = 64 << 20
_LONGEST_NAME = 1_000
_PIECE_BYTES = 1 << 20
_OWN = (
    *(names.HEADER, names.CONFIG, names.WORKER_CONFIG, names.EVENTS),
    *(names.TELEMETRY, names.METRICS_CSV, names.METRICS_PARQUET),
)
_KINDS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_PIECE_POINTS = 20_000
_LARGEST_STEP = 2**62
# What zipfile raises for an archive that somebody changed, or made to be read by another program.
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)


class RunArchive:
    """An archive whose every name and size was found to be harmless."""

    def __init__(self, path: Path, *, free_bytes: int) -> None:
        try:
            self._zip = zipfile.ZipFile(path)
        except (*_DAMAGE, ValueError, OSError) as error:
            raise ConfigError(f"The file is no archive of a run: {error}.") from None
        try:
            entries = self._zip.infolist()
            _check_all(entries, path.stat().st_size, free_bytes)
            self.header: Header = read_header(self._json(names.HEADER))
            self.config = self._object(names.CONFIG)
            has_worker = names.WORKER_CONFIG in self._zip.namelist()
            self.worker_config = self._object(names.WORKER_CONFIG) if has_worker else None
        except BaseException:
            self._zip.close()
            raise

    def close(self) -> None:
        self._zip.close()

    def event_lines(self) -> list[str]:
        text = self._document(names.EVENTS).decode("utf-8", errors="replace")
        return [line for line in text.split("\n") if line]

    def telemetry(self) -> Iterator[bytes]:
        """Yield the lines of steps and episodes, many at a time; a run may have none."""
        if names.TELEMETRY not in self._zip.namelist():
            return
        with self._open(names.TELEMETRY) as entry:
            try:
                while lines := entry.readlines(_PIECE_BYTES):
                    yield b"".join(lines)
            except _DAMAGE as error:
                raise _damaged(names.TELEMETRY, error) from None

    def points(self) -> Iterator[list[Point]]:
        """Yield the metrics in pieces."""
        with self._open(names.METRICS_CSV) as entry:
            rows = csv.reader(io.TextIOWrapper(entry, encoding="utf-8", newline=""))
            try:
                if tuple(next(rows, ())) != COLUMNS:
                    raise ConfigError(
                        f"{names.METRICS_CSV} has other columns than {', '.join(COLUMNS)}."
                    )
                piece: list[Point] = []
                for number, row in enumerate(rows, start=2):
                    piece.append(_point(row, number))
                    if len(piece) == _PIECE_POINTS:
                        yield piece
                        piece = []
            except (csv.Error, UnicodeDecodeError, *_DAMAGE) as error:
                raise _damaged(names.METRICS_CSV, error) from None
        if piece:
            yield piece

    def unpack_files(self, directory: Path) -> None:
        """Write the files of the run into an empty directory."""
        for info in self._zip.infolist():
            if info.filename.startswith(names.FILES) and not info.is_dir():
                self._unpack(info, directory / info.filename.removeprefix(names.FILES))

    def _unpack(self, info: zipfile.ZipInfo, target: Path) -> None:
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            # "x": two entries of one name are refused, on a disk that ignores case as well.
            with self._zip.open(info) as entry, target.open("xb") as file:
                while piece := entry.read(_PIECE_BYTES):
                    file.write(piece)
        except (FileExistsError, NotADirectoryError, IsADirectoryError):
            raise ConfigError(f"The archive holds {info.filename!r} twice.") from None
        except _DAMAGE as error:
            raise _damaged(info.filename, error) from None
        except OSError as error:
            raise StorageError(
                f"The archive cannot be unpacked: {error.strerror or error}."
            ) from None

    def _json(self, name: str) -> Any:
        try:
            return json.loads(self._document(name))
        except (ValueError, RecursionError) as error:
            raise _damaged(name, error) from None

    def _object(self, name: str) -> dict[str, Any]:
        document = self._json(name)
        if not isinstance(document, dict):
            raise ConfigError(f"{name} of the archive is no JSON object.")
        return document

    def _document(self, name: str) -> bytes:
        with self._open(name) as entry:
            try:
                data = entry.read(MOST_DOCUMENT_BYTES + 1)
            except _DAMAGE as error:
                raise _damaged(name, error) from None
        if len(data) > MOST_DOCUMENT_BYTES:
            raise ConfigError(f"{name} of the archive is larger than {MOST_DOCUMENT_BYTES} bytes.")
        return data

    def _open(self, name: str) -> IO[bytes]:
        try:
            return self._zip.open(name)
        except KeyError:
            raise ConfigError(
                f"The archive has no {name}: it is no export of a run.",
                hint="'mosaic export RUN -o run.zip' makes one.",
            ) from None
        except _DAMAGE as error:
            raise _damaged(name, error) from None


def _check_all(entries: list[zipfile.ZipInfo], size_bytes: int, free_bytes: int) -> None:
    if len(entries) > MOST_ENTRIES:
        raise ConfigError(f"The archive has {len(entries)} entries; {MOST_ENTRIES} are allowed.")
    for info in entries:
        _check_entry(info)
    folded = [info.filename.casefold() for info in entries]
    if len(set(folded)) < len(folded):
        twice = next(name for name in folded if folded.count(name) > 1)
        raise ConfigError(f"The archive holds {twice!r} twice.")
    _check_overlap(entries, size_bytes)
    unpacked = sum(info.file_size for info in entries)
    if unpacked > max(ALWAYS_BYTES, MOST_TIMES * size_bytes):
        raise ConfigError(
            f"The archive of {size_bytes} bytes would unpack to {unpacked}: that is no run."
        )
    if unpacked > free_bytes:
        raise StorageError(
            f"The archive needs {unpacked} bytes on the disk, and {free_bytes} are free."
        )


def _check_entry(info: zipfile.ZipInfo) -> None:
    name = info.filename
    path = PurePosixPath(name)
    is_own = name in _OWN or (name.startswith(names.FILES) and len(path.parts) > 1)
    is_folder = info.is_dir() and name.startswith(names.FILES)
    is_plain = (
        name.isprintable()
        and "\\" not in name
        and ":" not in name
        and not path.is_absolute()
        and not {"..", "."} & set(name.split("/"))
        and "" not in name.rstrip("/").split("/")
        and len(name) <= _LONGEST_NAME
    )
    if not is_plain or not (is_own or is_folder):
        raise ConfigError(
            f"The archive holds {name[:200]!r}, which is no file of a run: nothing was imported."
        )
    mode = info.external_attr >> 16
    if mode and stat.S_IFMT(mode) not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise ConfigError(f"{name!r} in the archive is a link or a device: nothing was imported.")
    if info.flag_bits & 0x1:
        raise ConfigError(f"{name!r} in the archive is encrypted: nothing was imported.")
    if info.compress_type not in _KINDS:
        raise ConfigError(f"{name!r} in the archive is compressed in a way that we do not read.")


def _check_overlap(entries: list[zipfile.ZipInfo], size_bytes: int) -> None:
    """Refuse entries that share their bytes, with which few of them unpack to very much."""
    end = 0
    for info in sorted(entries, key=lambda info: info.header_offset):
        if info.header_offset < end:
            raise ConfigError(f"{info.filename!r} in the archive overlaps another entry.")
        end = info.header_offset + info.compress_size
    if end > size_bytes:
        raise ConfigError("The archive is damaged: an entry reaches behind its end.")


def _point(row: list[str], number: int) -> Point:
    try:
        tag, step, value, low, high, count = row
        point = (tag, int(step), float(value), float(low), float(high), int(count))
    except ValueError:
        point = None
    is_good = (
        point is not None
        and 0 < len(point[0]) <= _LONGEST_NAME
        and abs(point[1]) < _LARGEST_STEP
        and 0 < point[5] < _LARGEST_STEP
    )
    if point is None or not is_good:
        shown = ",".join(row)[:100]
        raise ConfigError(f"{names.METRICS_CSV}, line {number} is no point: {shown!r}.")
    return point


def _damaged(name: str, error: Exception) -> ConfigError:
    return ConfigError(f"{name} of the archive is damaged: {error}.")
