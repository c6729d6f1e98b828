"""What a model on the Hugging Face Hub says of itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def model_card(
    *, name: str, env_id: str, seed: int, returns: Sequence[float], settings: Mapping[str, Any]
) -> str:
    """Return the README of a model: where it acts, how well, and how it was trained."""
    mean = sum(returns) / len(returns) if returns else None
    spread = (
        (sum((value - mean) ** 2 for value in returns) / len(returns)) ** 0.5
        if mean is not None
        else None
    )
    result = "not evaluated" if mean is None else f"{mean:.2f} +/- {spread:.2f}"
    rows = "\n".join(f"| {key} | {value} |" for key, value in settings.items())
    return f"""---
tags:
- {env_id}
- deep-reinforcement-learning
- reinforcement-learning
- custom-implementation
library_name: cleanrl
model-index:
- name: {name}
  results:
  - task:
      type: reinforcement-learning
      name: reinforcement-learning
    dataset:
      name: {env_id}
      type: {env_id}
    metrics:
    - type: mean_reward
      value: {result}
      name: mean_reward
      verified: false
---

# {name} on {env_id}

Trained by MOSAIC with CleanRL's {name}, seed {seed}. Mean return of {len(returns)} greedy episodes:
{result}.

| parameter | value |
|---|---|
{rows}
"""
