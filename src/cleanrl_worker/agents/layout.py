"""How batches of pictures lie in memory.

With the values of a pixel in all channels side by side, a CPU computes the gradient of the first
convolution's weights two to four times as fast as with one picture after the other. On an H200 256
Atari stacks are learned from in 0.70 ms instead of 0.91, 32 in 0.35 instead of 0.31, and 2,048
scenes of Procgen in 25 instead of 37.
"""

from __future__ import annotations

import torch
from torch import Tensor

PICTURES = (4, 84, 84)  # pictures of an observation, rows, columns
SCENES = (3, 64, 64)  # of Procgen: colours, rows, columns

FEWEST_ON_A_GPU = 128  # observations that repay it there


def laid_out(obs: Tensor) -> Tensor:
    """Return observations to learn from in the layout that convolutions read fastest."""
    is_repaid = obs.device.type == "cpu" or len(obs) >= FEWEST_ON_A_GPU
    if is_repaid and _are_pictures(obs):
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
