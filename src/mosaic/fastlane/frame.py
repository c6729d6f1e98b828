"""A frame, and the figures that travel with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Pixels: TypeAlias = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class FrameMetrics:
    """What was known of the environment when the frame was rendered.

    `rolling_return` is the smoothed return of its episodes, `step_rate_hz` environment steps a
    second, not frames.
    """

    last_reward: float = 0.0
    rolling_return: float = 0.0
    step_rate_hz: float = 0.0
    episode: int = 0
    step: int = 0


@dataclass(frozen=True, slots=True)
class Frame:
    """A picture of one lane, or of all of them as tiles (`lane` is None).

    `number` counts the frames of its lane from 1; of tiles it grows with every new one.
    `timestamp` is the unix time at which it was written.
    """

    pixels: Pixels
    number: int
    timestamp: float
    metrics: FrameMetrics
    lane: int | None
