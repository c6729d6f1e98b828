"""Saved policies: a flat state dict, and beside it what is needed to build the network again."""

from __future__ import annotations

import io
import struct
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
import torch.serialization
from torch import Tensor

from mosaic.contracts.errors import ConfigError, StorageError
from mosaic.contracts.files import write_bytes_whole, write_json_whole

MODEL_SUFFIX = ".cleanrl_model"

# What torch raises for a file that would run code; reached through torch, which alone unpickles.
_UnpicklingError: type[Exception] = torch.serialization.pickle.UnpicklingError  # type: ignore[attr-defined]
# What its unpickler raises for bytes that nobody wrote, as 3,000 mutated files showed.
_MALFORMED = (
    _UnpicklingError,
    struct.error,
    ArithmeticError,
    AssertionError,
    AttributeError,
    EOFError,
    LookupError,
    MemoryError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
)


def save_model(path: Path, state: Mapping[str, Any], description: Mapping[str, Any]) -> None:
    """Write `<path>` for `torch.load(weights_only=True)`, and its description as `<stem>.json`."""
    data = io.BytesIO()
    torch.save(dict(state), data)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json_whole(path.with_suffix(".json"), dict(description))
        write_bytes_whole(path, data.getvalue())
    except OSError as error:
        raise StorageError(
            f"The model {path.as_posix()!r} cannot be written: {error.strerror}.",
            hint="Make room, and resume from the last checkpoint.",
        ) from None


@dataclass(frozen=True, slots=True)
class SavedModel:
    """A policy's tensors, and the arguments that CleanRL's c51 keeps in the same file."""

    tensors: dict[str, Tensor]
    arguments: Mapping[str, Any] = field(default_factory=dict)


def _named(parts: tuple[dict[str, Any], ...]) -> dict[str, Any]:
    """Name the networks that CleanRL's ddpg and td3 save one after the other."""
    return {
        f"{network}.{name}": tensor
        for network, weights in zip(("actor", "qf1", "qf2"), parts, strict=False)
        for name, tensor in weights.items()
    }


def load_model(path: Path) -> SavedModel:
    """Read a saved policy without running anything that the file may hold."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a file that is no policy the refusal says enough
            state = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        raise ConfigError(f"The policy {str(path)!r} does not exist.") from None
    except _UnpicklingError:  # torch's own text advises to load it all the same
        raise ConfigError(
            f"{str(path)!r} is no saved policy: it holds more than tensors. Nothing in it was run."
        ) from None
    except _MALFORMED as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ConfigError(f"{str(path)!r} is no saved policy: {reason[:120]}") from None
    arguments: Mapping[str, Any] = {}
    if isinstance(state, dict) and isinstance(state.get("model_weights"), dict):
        arguments, state = _arguments(path, state.get("args", {})), state["model_weights"]
    if isinstance(state, tuple) and all(isinstance(part, dict) for part in state):
        state = _named(state)
    if not isinstance(state, dict) or not all(isinstance(item, Tensor) for item in state.values()):
        raise ConfigError(f"{str(path)!r} is no saved policy: it is not a dictionary of tensors.")
    return SavedModel(state, arguments)


def _arguments(path: Path, found: object) -> Mapping[str, Any]:
    """Return the arguments beside the weights; whoever uses one checks its value."""
    if not isinstance(found, dict):
        raise ConfigError(f"{str(path)!r} is no saved policy: its args are not a dictionary.")
    return found
