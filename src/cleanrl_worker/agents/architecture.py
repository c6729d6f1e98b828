"""What is said of an agent, whichever framework its networks are of."""

from __future__ import annotations

import math
from typing import Any


def architecture_of(agent: Any) -> str:
    name: str = getattr(agent, "architecture", None) or type(agent).__name__
    return name


def count_parameters(agent: Any) -> int:
    return sum(math.prod(weights.shape) for weights in agent.parameters())
