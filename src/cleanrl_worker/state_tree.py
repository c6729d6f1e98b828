"""Nested training state as JSON and tensors.

`state_dict()`s nest dictionaries, lists, tuples, numbers and tensors. Splitting one gives a JSON
skeleton, in which each tensor is replaced by its key, and the flat tensors themselves; joining
gives the same nested state back, types included. Nothing is pickled.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mosaic.contracts.errors import ConfigError

# A dictionary with one of these as its only key stands for something else than a dictionary.
_TENSOR, _ARRAY, _TUPLE, _ITEMS, _FLOAT = "$tensor", "$array", "$tuple", "$items", "$float"


def split(state: Any, prefix: str) -> tuple[Any, dict[str, Tensor]]:
    """Return the skeleton, and the tensors under keys that begin with the prefix."""
    tensors: dict[str, Tensor] = {}
    return _split(state, prefix, tensors), tensors


def _split(state: Any, path: str, tensors: dict[str, Tensor]) -> Any:
    if isinstance(state, Tensor):
        # A copy: safetensors refuses tensors that share memory, as tied weights do.
        return {_TENSOR: _add(tensors, path, state.detach().to("cpu", copy=True).contiguous())}
    if isinstance(state, np.ndarray):
        return {_ARRAY: _add(tensors, path, torch.from_numpy(state.copy(order="C")))}
    if isinstance(state, Mapping):
        items = [[key, _split(value, f"{path}/{key}", tensors)] for key, value in state.items()]
        return dict(items) if all(map(_is_plain_key, state)) else {_ITEMS: items}
    if isinstance(state, list | tuple):
        values = [_split(value, f"{path}/{index}", tensors) for index, value in enumerate(state)]
        return {_TUPLE: values} if isinstance(state, tuple) else values
    if isinstance(state, np.generic):
        state = state.item()
    if isinstance(state, float) and not math.isfinite(state):
        return {_FLOAT: str(state)}  # JSON has no number for it
    assert state is None or isinstance(state, bool | int | float | str), f"{path}: {type(state)}"
    return state


def _is_plain_key(key: object) -> bool:
    return isinstance(key, str) and not key.startswith("$")


def _add(tensors: dict[str, Tensor], path: str, tensor: Tensor) -> str:
    """Keep the tensor under its path; two paths may read alike, as those of 1 and "1" do."""
    key = path if path not in tensors else f"{path}#{len(tensors)}"
    assert key not in tensors, key
    tensors[key] = tensor
    return key


def join(skeleton: Any, tensors: Mapping[str, Tensor]) -> Any:
    """Return the nested state; a tensor that the skeleton names and nobody has is refused.

    A skeleton that `split` did not make is a TypeError, ValueError or RecursionError.
    """
    if isinstance(skeleton, list):
        return [join(value, tensors) for value in skeleton]
    if not isinstance(skeleton, dict):
        return skeleton
    if len(skeleton) == 1:
        ((key, value),) = skeleton.items()
        if key.startswith("$"):
            return _join_marked(key, value, tensors)
    return {key: join(value, tensors) for key, value in skeleton.items()}


def _join_marked(mark: str, value: Any, tensors: Mapping[str, Tensor]) -> Any:
    if mark == _TENSOR:
        return _find(tensors, value)
    if mark == _ARRAY:
        return _find(tensors, value).numpy().copy()
    if mark == _TUPLE:
        return tuple(join(item, tensors) for item in value)
    if mark == _ITEMS:
        return {key: join(item, tensors) for key, item in value}
    if mark == _FLOAT:
        return float(value)
    raise ValueError(f"an unknown mark: {mark}")


def _find(tensors: Mapping[str, Tensor], key: str) -> Tensor:
    if key not in tensors:
        raise ConfigError(f"it lacks the tensor {key!r}")
    return tensors[key]
