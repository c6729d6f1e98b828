"""Checkpoints: directories of JSON and safetensors that are whole or absent.

`step-<N>.ckpt/` holds `checkpoint.json` (what it is, the skeleton of the state, the size and
digest of every other file) and `state.safetensors`. It is written under another name, read back,
and renamed; the one before is removed only after that.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from torch import Tensor

from cleanrl_worker.state_tree import join, split
from mosaic.contracts.errors import ConfigError, StorageError
from mosaic.contracts.files import sync_directory

FORMAT_VERSION = 1
DOCUMENT = "checkpoint.json"
STATE = "state.safetensors"
DOCUMENT_LIMIT_BYTES = 64 << 20
_NAME = re.compile(r"step-(\d+)\.ckpt")


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint that was read and verified."""

    path: Path
    document: Mapping[str, Any]
    state: Mapping[str, Any]

    @property
    def step(self) -> int:
        return int(self.document["step"])

    @property
    def is_exact(self) -> bool:
        return bool(self.document["exact"])


def name_of(step: int) -> str:
    return f"step-{step}.ckpt"


def write_checkpoint(
    directory: Path, step: int, description: Mapping[str, Any], state: Mapping[str, Any]
) -> Path:
    """Write the state as `step-<N>.ckpt` under the directory, verified before it gets its name."""
    final = directory / name_of(step)
    aside = directory / f".{final.name}.{os.getpid()}.tmp"
    skeleton, tensors = split(state, "state")
    try:
        aside.mkdir(parents=True)
        digest = _write(aside / STATE, save_tensors(tensors))
        document = {
            "format_version": FORMAT_VERSION,
            "step": step,
            **description,
            "files": {STATE: digest},
            "state": skeleton,
        }
        _write(aside / DOCUMENT, json.dumps(document, allow_nan=False).encode())
        sync_directory(aside)
        _verify(aside / STATE, digest, final.name)
        if final.exists():
            _remove(final)
        os.rename(aside, final)
        sync_directory(directory)
    except OSError as error:
        shutil.rmtree(aside, ignore_errors=True)
        raise StorageError(
            f"The checkpoint at step {step} cannot be written to {str(directory)!r}: "
            f"{error.strerror}. The one before stands."
        ) from None
    return final


def _write(path: Path, data: bytes) -> dict[str, Any]:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    return {"size_bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def _verify(path: Path, digest: Mapping[str, Any], owner: str) -> bytes:
    """Return the file's bytes, or refuse it when they are not those that were written."""
    try:
        size = path.stat().st_size
        if size != digest["size_bytes"]:
            raise ConfigError(
                f"Checkpoint {owner!r} is damaged: {path.name} has {size} bytes, "
                f"not {digest['size_bytes']}."
            )
        data = path.read_bytes()
    except OSError as error:
        raise ConfigError(
            f"Checkpoint {owner!r} is damaged: {path.name} cannot be read ({error.strerror})."
        ) from None
    if hashlib.sha256(data).hexdigest() != digest["sha256"]:
        raise ConfigError(f"Checkpoint {owner!r} is damaged: {path.name} has another checksum.")
    return data


def read_document(path: Path) -> dict[str, Any]:
    """Read what a checkpoint says of itself, without its tensors."""
    owner = path.name
    try:
        with (path / DOCUMENT).open("rb") as file:
            data = file.read(DOCUMENT_LIMIT_BYTES + 1)
    except OSError as error:
        raise ConfigError(
            f"{str(path)!r} is no checkpoint: {DOCUMENT}: {error.strerror}."
        ) from None
    if len(data) > DOCUMENT_LIMIT_BYTES:
        raise ConfigError(f"Checkpoint {owner!r} is refused: {DOCUMENT} is larger than 64 MB.")
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        raise ConfigError(f"Checkpoint {owner!r} is damaged: {DOCUMENT} is not JSON.") from None
    version = document.get("format_version") if isinstance(document, dict) else None
    if not isinstance(version, int):
        raise ConfigError(f"Checkpoint {owner!r} is damaged: {DOCUMENT} has no format_version.")
    if version > FORMAT_VERSION:
        raise ConfigError(
            f"Checkpoint {owner!r} has format version {version}; this MOSAIC reads up to "
            f"{FORMAT_VERSION}: update it."
        )
    missing = {"step", "exact", "algo", "env_id", "settings", "files", "state"} - document.keys()
    if missing:
        raise ConfigError(
            f"Checkpoint {owner!r} is damaged: it lacks {', '.join(sorted(missing))}."
        )
    return dict(document)


def read_checkpoint(path: Path) -> Checkpoint:
    """Read and verify a checkpoint; whatever is wrong with it is one clear line."""
    document = read_document(path)
    digest = document["files"].get(STATE) if isinstance(document["files"], dict) else None
    if not isinstance(digest, dict) or not {"size_bytes", "sha256"} <= digest.keys():
        raise ConfigError(f"Checkpoint {path.name!r} is damaged: {STATE} is not listed.")
    state = join(document.pop("state"), _read_tensors(path, digest))
    return Checkpoint(path, document, state)


def _read_tensors(path: Path, digest: Mapping[str, Any]) -> dict[str, Tensor]:
    data = _verify(path / STATE, digest, path.name)
    try:
        tensors: dict[str, Tensor] = load_tensors(data)
    except (SafetensorError, ValueError) as error:
        raise ConfigError(f"Checkpoint {path.name!r} is refused: {STATE}: {error}.") from None
    return tensors


def find_checkpoints(directory: Path) -> list[Path]:
    """Return the checkpoints under a directory, oldest first; leftovers of a kill are none."""
    found = [
        (int(match[1]), entry)
        for entry in (directory.iterdir() if directory.is_dir() else ())
        if (match := _NAME.fullmatch(entry.name)) and (entry / DOCUMENT).is_file()
    ]
    return [path for _, path in sorted(found)]


def prune(directory: Path, kept_exact: int) -> list[Path]:
    """Keep the newest exact checkpoints and the newest extra one; return what is kept."""
    checkpoints = find_checkpoints(directory)
    exact = [path for path in checkpoints if read_document(path)["exact"]]
    extra = [path for path in checkpoints if path not in exact]
    kept = exact[-kept_exact:] + extra[-1:]
    for path in checkpoints:
        if path not in kept:
            _remove(path)
    for leftover in directory.glob(".step-*.tmp"):
        shutil.rmtree(leftover, ignore_errors=True)
    return kept


def _remove(path: Path) -> None:
    """Take the name away first: a kill halfway must not leave half a checkpoint under it."""
    aside = path.with_name(f".{path.name}.removed.tmp")
    os.rename(path, aside)
    shutil.rmtree(aside)
