"""Nested training state as JSON and tensors.

`state_dict()`s nest dictionaries, lists, tuples, numbers and tensors. Splitting one gives a JSON
skeleton, in which each tensor is replaced by its key, and the flat tensors themselves; joining
gives the same nested state back, types included. Nothing is pickled.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mosaic.contracts.errors import ConfigError

_TENSOR, _ARRAY, _TUPLE, _ITEMS = "$tensor", "$array", "$tuple", "$items"


def split(state: Any, prefix: str) -> tuple[Any, dict[str, Tensor]]:
    """Return the skeleton, and the tensors under keys that begin with the prefix."""
    tensors: dict[str, Tensor] = {}
    return _split(state, prefix, tensors), tensors


def _split(state: Any, path: str, tensors: dict[str, Tensor]) -> Any:
    if isinstance(state, Tensor):
        tensors[path] = state.detach().cpu().contiguous()
        return {_TENSOR: path}
    if isinstance(state, np.ndarray):
        tensors[path] = torch.from_numpy(state.copy(order="C"))
        return {_ARRAY: path}
    if isinstance(state, Mapping):
        items = [[key, _split(value, f"{path}/{key}", tensors)] for key, value in state.items()]
        return dict(items) if all(isinstance(key, str) for key in state) else {_ITEMS: items}
    if isinstance(state, list | tuple):
        values = [_split(value, f"{path}/{index}", tensors) for index, value in enumerate(state)]
        return {_TUPLE: values} if isinstance(state, tuple) else values
    if isinstance(state, np.generic):
        return state.item()
    assert state is None or isinstance(state, bool | int | float | str), f"{path}: {type(state)}"
    return state


def join(skeleton: Any, tensors: Mapping[str, Tensor]) -> Any:
    """Return the nested state; a tensor that the skeleton names and nobody has is refused."""
    if isinstance(skeleton, list):
        return [join(value, tensors) for value in skeleton]
    if not isinstance(skeleton, dict):
        return skeleton
    if _TENSOR in skeleton:
        return _find(tensors, skeleton[_TENSOR])
    if _ARRAY in skeleton:
        return _find(tensors, skeleton[_ARRAY]).numpy().copy()
    if _TUPLE in skeleton:
        return tuple(join(value, tensors) for value in skeleton[_TUPLE])
    if _ITEMS in skeleton:
        return {key: join(value, tensors) for key, value in skeleton[_ITEMS]}
    return {key: join(value, tensors) for key, value in skeleton.items()}


def _find(tensors: Mapping[str, Tensor], key: str) -> Tensor:
    if key not in tensors:
        raise ConfigError(f"The checkpoint lacks the tensor {key!r}: it is damaged.")
    return tensors[key]
