"""The way of a drawn batch to where it is learned from: to a GPU in one piece."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from cleanrl_worker.envs.observations import Array

# Every array begins where any type may begin.
_ALIGNMENT = 16


def to_tensors(arrays: Mapping[str, Array], device: torch.device) -> dict[str, Tensor]:
    """Return the arrays as tensors on the device, without waiting for those that are on their way.

    A copy from ordinary memory waits for the GPU, once an array. From one piece of pinned memory it
    does not; torch keeps that until the copy is over, and then gives it out again.
    """
    if device.type != "cuda":
        tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
        return {name: tensor.to(device) for name, tensor in tensors.items()}
    starts, size = [], 0
    for array in arrays.values():
        starts.append(size)
        size += -(-array.nbytes // _ALIGNMENT) * _ALIGNMENT
    packed = torch.empty(size, dtype=torch.uint8, pin_memory=True)
    piece = packed.numpy()
    for start, array in zip(starts, arrays.values(), strict=True):
        place = piece[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
        np.copyto(place, array)
    sent = packed.to(device, non_blocking=True)
    return {
        name: _part(sent, start, array)
        for start, (name, array) in zip(starts, arrays.items(), strict=True)
    }


def _part(sent: Tensor, start: int, array: Array) -> Tensor:
    dtype = torch.from_numpy(np.empty(0, array.dtype)).dtype
    return sent[start : start + array.nbytes].view(dtype).view(array.shape)
