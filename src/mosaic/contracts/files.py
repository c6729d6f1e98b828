"""Files that are whole or absent: written aside, synced, renamed."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from mosaic.contracts.errors import ConfigError, StorageError


def write_bytes_whole(path: Path, data: bytes) -> None:
    """Replace the file with these bytes; a crash leaves the old or the new, never a part."""
    handle, aside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(aside, 0o644)
        os.replace(aside, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(aside)
        raise
    sync_directory(path.parent)


def write_json_whole(path: Path, document: Any) -> None:
    text = json.dumps(document, indent=2, allow_nan=False, ensure_ascii=False)
    write_bytes_whole(path, text.encode() + b"\n")


def sync_directory(directory: Path) -> None:
    """Make a rename in this directory survive a power cut."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def read_json(path: Path, *, what: str) -> Any:
    """Read a JSON file that a user named; every way it can be wrong is one clear line."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ConfigError(f"{what} {str(path)!r} does not exist.") from None
    except IsADirectoryError:
        raise ConfigError(f"{what} {str(path)!r} is a directory: name a JSON file.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{what} {str(path)!r} cannot be read: {error}.") from None
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise ConfigError(
            f"{what} {str(path)!r} is not JSON: {error.msg} at line {error.lineno}, "
            f"column {error.colno}."
        ) from None
    except RecursionError:
        raise ConfigError(f"{what} {str(path)!r} is not JSON that we read: too deep.") from None


def make_directory(path: Path, *, what: str) -> None:
    """Create a directory and prove that it can be written."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as error:
        raise StorageError(
            f"{what} {str(path)!r} cannot be written: {error.strerror}.",
            hint="Set MOSAIC_VAR_DIR to a directory that you may write.",
        ) from None
