"""How an algorithm wants to see environments that can be seen in several ways."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

# What is brought to one scale while training runs: rewards, or observations too.
Normalise = Literal["rewards", "all"]


@dataclass(frozen=True, slots=True)
class Sight:
    """`frame_stack`: pictures in an observation of an Atari game. `grid_pixels`: MiniGrid's view as
    a picture of 84x84, of the three by three cells before the agent, instead of as numbers.
    """

    frame_stack: int = 4
    grid_pixels: bool = False


USUAL = Sight()
