"""How batches of pictures lie in memory.

With the values of a pixel in all channels side by side, a CPU computes the gradient of the first
convolution's weights two to four times as fast as with one picture after the other. A GPU learns
from Procgen's scenes in two thirds of the time: 25 ms instead of 37 for 2,048 of them on an H200.
"""

from __future__ import annotations

import torch
from torch import Tensor

PICTURES = (4, 84, 84)  # pictures of an observation, rows, columns
SCENES = (3, 64, 64)  # of Procgen: colours, rows, columns


def laid_out(obs: Tensor) -> Tensor:
    """Return observations to learn from in the layout that convolutions read fastest."""
    is_faster = obs.device.type == "cpu" or obs.shape[1:] == SCENES
    if is_faster and _are_pictures(obs):
        return obs.contiguous(memory_format=torch.channels_last)
    return obs


def pick_rows(obs: Tensor, index: Tensor) -> Tensor:
    """Return the rows of an index in the layout of the whole.

    `index_select` copies whole rows, ten times as fast as `obs[index]`, but loses the layout.
    """
    if _are_pictures(obs) and obs.is_contiguous(memory_format=torch.channels_last):
        return obs.permute(0, 2, 3, 1).index_select(0, index).permute(0, 3, 1, 2)
    return obs.index_select(0, index)


def _are_pictures(obs: Tensor) -> bool:
    """Say whether they are stacks of pictures, with or without planes that name a player, or scenes
    in colour.
    """
    return obs.dim() == 1 + len(PICTURES) and obs.shape[2:] in (PICTURES[1:], SCENES[1:])
