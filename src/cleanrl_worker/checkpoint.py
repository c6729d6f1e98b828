"""Checkpoints: directories of JSON and safetensors that are whole or absent.

`step-<N>.ckpt/` holds `checkpoint.json` (what it is, the skeleton of the state, the size and
digest of every other file) and `state.safetensors`. It is written under another name, read back,
and renamed; the one before is removed only after that. A checkpoint never changes.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from torch import Tensor

from cleanrl_worker.checkpoint_document import (
    DOCUMENT,
    DOCUMENT_LIMIT_BYTES,
    FORMAT_VERSION,
    damaged,
    find_checkpoints,
    name_of,
    read_document,
    read_plain_file,
    seal,
)
from cleanrl_worker.state_tree import join, split
from mosaic.contracts.errors import ConfigError, StorageError
from mosaic.contracts.files import sync_directory

STATE = "state.safetensors"


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
        """Say whether going on from here equals not having stopped.

        A scheduled cut whose replay buffer was not saved ("replay" is null) is none of these.
        """
        return bool(self.document["exact"]) and self.document.get("replay", {}) is not None


Attach = Callable[[Path], Mapping[str, Any]]


def write_checkpoint(
    directory: Path,
    step: int,
    description: Mapping[str, Any],
    state: Mapping[str, Any],
    attach: Attach | None = None,
) -> Path:
    """Write the state as `step-<N>.ckpt` under the directory, verified before it gets its name.

    `attach` may add files of its own to the checkpoint; what it returns goes into the document.
    """
    final = directory / name_of(step)
    aside = directory / f".{final.name}.{os.getpid()}.tmp"
    try:
        if final.exists():
            raise FileExistsError(errno.EEXIST, f"{final.name} exists already")
        shutil.rmtree(aside, ignore_errors=True)
        aside.mkdir(parents=True)
        attached = attach(aside) if attach is not None else {}
        _write_files(aside, {"step": step, **description, **attached}, state)
        os.rename(aside, final)
        sync_directory(directory)
    except OSError as error:
        shutil.rmtree(aside, ignore_errors=True)
        raise StorageError(
            f"The checkpoint at step {step} cannot be written to {str(directory)!r}: "
            f"{error.strerror}. The one before stands."
        ) from None
    return final


def _write_files(aside: Path, description: Mapping[str, Any], state: Mapping[str, Any]) -> None:
    skeleton, tensors = split(state, "state")
    data = save_tensors(tensors)
    digest = {"size_bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    files = {STATE: digest}
    document = {"format_version": FORMAT_VERSION, **description, "files": files, "state": skeleton}
    sealed = seal(document)
    assert len(sealed) <= DOCUMENT_LIMIT_BYTES, "plain values belong in arrays"
    _write(aside / STATE, data)
    _write(aside / DOCUMENT, sealed)
    sync_directory(aside)
    for name, written in ((STATE, data), (DOCUMENT, sealed)):
        if read_plain_file(aside / name, len(written) + 1) != written:
            raise OSError(errno.EIO, f"{name} reads back otherwise than it was written")


def _write(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def read_checkpoint(path: Path) -> Checkpoint:
    """Read and verify a checkpoint; whatever is wrong with it is one clear line."""
    document = read_document(path)
    tensors = _read_tensors(path, document["files"].get(STATE))
    try:
        state = join(document.pop("state"), tensors)
    except ConfigError as error:
        raise damaged(path, error.message) from None
    except (TypeError, ValueError, RecursionError):
        raise damaged(path, f"the state in {DOCUMENT} is none that we wrote") from None
    if not isinstance(state, dict):
        raise damaged(path, f"the state in {DOCUMENT} is none that we wrote")
    return Checkpoint(path, document, state)


def _read_tensors(path: Path, digest: Any) -> dict[str, Tensor]:
    size = digest.get("size_bytes") if isinstance(digest, dict) else None
    if type(size) is not int:
        raise damaged(path, f"{DOCUMENT} does not list {STATE}")
    try:
        found = (path / STATE).stat().st_size
        # Nothing is set aside for a size that is only claimed.
        data = read_plain_file(path / STATE, found) if found == size else b""
    except OSError as error:
        raise damaged(path, f"{STATE}: {error.strerror}") from None
    if found != size:
        raise damaged(path, f"{STATE} has {found} bytes, not {size}")
    if hashlib.sha256(data).hexdigest() != digest.get("sha256"):
        raise damaged(path, f"{STATE} has another checksum")
    try:
        tensors: dict[str, Tensor] = load_tensors(data)
    except (SafetensorError, ValueError, TypeError, KeyError, RuntimeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise damaged(path, f"{STATE} is not safetensors ({reason})") from None
    return tensors


def prune(directory: Path, kept_exact: int) -> list[Path]:
    """Keep the newest exact checkpoints and the newest extra one; return what is kept.

    One that cannot be read is left for somebody to look at; what cannot be removed now is tried
    again after the next checkpoint.
    """
    exact: list[Path] = []
    extra: list[Path] = []
    for path in find_checkpoints(directory):
        with contextlib.suppress(ConfigError):
            (exact if read_document(path)["exact"] else extra).append(path)
    for path in exact[:-kept_exact] + extra[:-1]:
        with contextlib.suppress(OSError):
            # The name goes first: a kill halfway must not leave half a checkpoint under it.
            os.rename(path, path.with_name(f".{path.name}.removed.tmp"))
    for leftover in directory.glob(".step-*.tmp"):
        shutil.rmtree(leftover, ignore_errors=True)
    return exact[-kept_exact:] + extra[-1:]
