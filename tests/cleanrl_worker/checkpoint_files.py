"""Checkpoints for tests: written by us, and then changed as an attacker would."""

from __future__ import annotations

import hashlib
import json
import struct
from pathlib import Path
from typing import Any

import torch

from cleanrl_worker.checkpoint import STATE, write_checkpoint
from cleanrl_worker.checkpoint_document import DOCUMENT, seal

DESCRIPTION: dict[str, Any] = {
    "exact": True,
    "algo": "ppo",
    "env_id": "CartPole-v1",
    "seed": 1,
    "settings": {},
}


def make_checkpoint(directory: Path, step: int = 100, **description: Any) -> Path:
    state = {"agent": {"weights": torch.arange(6.0), "bias": torch.ones(2)}, "counter": step}
    return write_checkpoint(directory, step, {**DESCRIPTION, **description}, state)


def document_of(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((path / DOCUMENT).read_text())
    return document


def reseal(path: Path, **changes: Any) -> None:
    """Change the document, with a checksum that fits."""
    document = document_of(path) | changes
    document.pop("sha256")
    (path / DOCUMENT).write_bytes(seal(document))


def replace_tensors(path: Path, data: bytes) -> None:
    """Put other bytes in place of the tensors, with a checksum that fits."""
    (path / STATE).write_bytes(data)
    digest = {"size_bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    reseal(path, files={STATE: digest})


def safetensors_bytes(header: Any, payload: bytes, *, header_size: int | None = None) -> bytes:
    """Build a safetensors file by hand, whatever its header says."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if header_size is None else header_size) + text + payload
