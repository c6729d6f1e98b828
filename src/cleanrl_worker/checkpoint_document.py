"""`checkpoint.json`: what a checkpoint says of itself, written and read without torch.

It is sealed with its own digest and lists the digests of the files beside it, so that a changed
bit anywhere in a checkpoint is noticed. Nothing that it says names a path.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mosaic.contracts.errors import ConfigError

FORMAT_VERSION = 1
DOCUMENT = "checkpoint.json"
# A PPO checkpoint's has some 20 kB. Parsed, JSON takes up to thirty times its size in memory.
DOCUMENT_LIMIT_BYTES = 8 << 20

_NAME = re.compile(r"step-(\d+)\.ckpt", re.ASCII)
_FIELDS: dict[str, type] = {
    "step": int,
    "exact": bool,
    "algo": str,
    "env_id": str,
    "seed": int,
    "settings": dict,
    "files": dict,
    "state": dict,
}


def name_of(step: int) -> str:
    return f"step-{step}.ckpt"


def find_checkpoints(directory: Path) -> list[Path]:
    """Return the checkpoints under a directory, oldest first; leftovers of a kill are none."""
    found = [
        (int(match[1]), entry)
        for entry in (directory.iterdir() if directory.is_dir() else ())
        if (match := _NAME.fullmatch(entry.name)) and not entry.is_symlink() and entry.is_dir()
    ]
    return [path for _, path in sorted(found)]


def damaged(path: Path, fault: str) -> ConfigError:
    """Return the error for a checkpoint that cannot be used, with the file and its fault."""
    return ConfigError(
        f"Checkpoint {path.name!r} is damaged: {fault}.", hint="Resume from another one."
    )


def seal(document: Mapping[str, Any]) -> bytes:
    """Return the bytes of a document, its own digest among them."""
    return json.dumps({**document, "sha256": _digest(document)}, allow_nan=False).encode()


def _digest(document: Mapping[str, Any]) -> str:
    """Return the digest of everything but the digest."""
    rest = {key: value for key, value in document.items() if key != "sha256"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def read_document(path: Path) -> dict[str, Any]:
    """Read and verify what a checkpoint says of itself, without its tensors."""
    if not path.is_dir():
        raise ConfigError(f"{str(path)!r} is no checkpoint: there is no directory of that name.")
    try:
        data = read_plain_file(path / DOCUMENT, DOCUMENT_LIMIT_BYTES + 1)
    except OSError as error:
        raise ConfigError(
            f"{str(path)!r} is no checkpoint: {DOCUMENT}: {error.strerror}."
        ) from None
    if len(data) > DOCUMENT_LIMIT_BYTES:
        raise damaged(path, f"{DOCUMENT} is larger than {DOCUMENT_LIMIT_BYTES >> 20} MB")
    try:
        document = json.loads(data)
        is_sealed = isinstance(document, dict) and document.get("sha256") == _digest(document)
    except (ValueError, RecursionError):
        raise damaged(path, f"{DOCUMENT} is not JSON that we wrote") from None
    _check_version(path, document)
    if not is_sealed:
        raise damaged(path, f"{DOCUMENT} has another checksum than it says")
    _check_fields(path, document)
    return dict(document)


def _check_version(path: Path, document: Any) -> None:
    """Check the version before the rest: a newer one may be sealed and laid out otherwise."""
    version = document.get("format_version") if isinstance(document, dict) else None
    if type(version) is not int or version < 1:
        raise damaged(path, f"{DOCUMENT} has no format_version")
    if version > FORMAT_VERSION:
        raise ConfigError(
            f"Checkpoint {path.name!r} has format version {version}; this MOSAIC reads up to "
            f"{FORMAT_VERSION}.",
            hint="Update MOSAIC.",
        )


def _check_fields(path: Path, document: Mapping[str, Any]) -> None:
    for name, kind in _FIELDS.items():
        if type(document.get(name)) is not kind:
            raise damaged(path, f"{DOCUMENT} has no {name!r} that is of type {kind.__name__}")
    if document["step"] < 0:
        raise damaged(path, f"{DOCUMENT} has step={document['step']}")


def read_plain_file(path: Path, limit_bytes: int) -> bytes:
    """Read the beginning of a regular file; a link, a pipe or a device is an OSError.

    Non-blocking, since opening a pipe waits for its writer.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(errno.ELOOP, "is a link, not a file") from None
        raise
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "is not a plain file")
        with os.fdopen(handle, "rb", closefd=False) as file:
            return file.read(limit_bytes)
    finally:
        os.close(handle)
