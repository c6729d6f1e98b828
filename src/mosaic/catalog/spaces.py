"""Spaces in words, as the pages write them. Nothing is imported: a space is known by its class."""

from __future__ import annotations

from typing import Any


def space_text(space: Any) -> str:
    """Return "Discrete(2)", "Box(4) float32", "Tuple(Discrete(32), Discrete(11))" and the like."""
    name = type(space).__name__
    if name == "Box":
        return f"Box({', '.join(map(str, space.shape))}) {space.dtype}"
    if name == "Discrete":
        return f"Discrete({int(space.n)})"
    if name == "MultiDiscrete":
        return f"MultiDiscrete({', '.join(map(str, space.nvec.tolist()))})"
    if name == "MultiBinary":
        return f"MultiBinary({space.n})"
    if name == "Tuple":
        return f"Tuple({', '.join(map(space_text, space.spaces))})"
    if name == "Dict":
        parts = (f"{key}: {space_text(part)}" for key, part in space.spaces.items())
        return f"Dict({', '.join(parts)})"
    return "Text" if name.endswith("MissionSpace") else name
