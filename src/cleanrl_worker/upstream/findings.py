"""What a dry run found: the script's environments and networks, as they stand at its first step."""

from __future__ import annotations

import sys
from typing import Any


def describe_script(envs: Any) -> dict[str, Any]:
    networks = _networks()
    weights = {id(each): each for network in networks for each in network.parameters()}
    devices = sorted({str(each.device) for each in weights.values()})
    return {
        "env": _environment(envs),
        "agent": {
            "architecture": ", ".join(dict.fromkeys(type(each).__name__ for each in networks)),
            "parameters": sum(each.numel() for each in weights.values()),
        },
        "device": ", ".join(devices) or "cpu",
        "resources": {"memory_mb": _memory_mb()},
        "warnings": [],
    }


def _environment(envs: Any) -> dict[str, Any]:
    spec = getattr(envs, "spec", None)
    return {
        "id": getattr(spec, "id", None),
        "family": None,
        "observation_space": str(getattr(envs, "single_observation_space", None)),
        "action_space": str(getattr(envs, "single_action_space", None)),
    }


def _networks() -> list[Any]:
    """Return the torch modules that the script holds under a name, those inside others left out."""
    torch = sys.modules.get("torch")
    if torch is None:
        return []
    held = vars(sys.modules["__main__"]).values()
    return [each for each in held if isinstance(each, torch.nn.Module)]


def _memory_mb() -> int | None:
    """Return the largest memory of this process so far; replay buffers fill up only later."""
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (2**20 if sys.platform == "darwin" else 2**10))
