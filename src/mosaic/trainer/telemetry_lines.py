"""From a line of the telemetry lane to the row that the store keeps of it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from mosaic.trainer.store.recordings import TERMINATED, TRUNCATED, EpisodeRow, StepRow
from mosaic.trainer.store.text import storable

_LARGEST = 2**62


def step_row(document: Mapping[str, Any]) -> StepRow | None:
    """Return the row of a step, or None for a line that is none."""
    episode, step = document.get("episode_index"), document.get("step_index")
    if type(episode) is not int or type(step) is not int or not _fits(episode) or not _fits(step):
        return None
    reward = _number(document.get("reward"))
    if reward is None:
        return None
    info, payload = document.get("info"), document.get("render_payload")
    return (
        _name(document.get("worker_id")),
        _name(document.get("agent_id")),
        episode,
        step,
        _whole(document.get("episode_seed")),
        _cell(document.get("action")),
        _cell(document.get("observation")),
        reward,
        _flags(document),
        _text(info) if info else None,
        _text(payload) if payload else None,
        _number(document.get("timestamp")),
    )


def episode_row(document: Mapping[str, Any]) -> EpisodeRow | None:
    """Return the row of an episode, or None for a line that is none."""
    episode, steps = document.get("episode_index"), document.get("steps")
    if type(episode) is not int or type(steps) is not int or not _fits(episode) or not _fits(steps):
        return None
    total = _number(document.get("total_reward"))
    if total is None:
        return None
    metadata = document.get("metadata")
    return (
        _name(document.get("worker_id")),
        _name(document.get("agent_id")),
        episode,
        total,
        steps,
        _flags(document),
        _whole(document.get("seed")),
        _text(metadata) if metadata else None,
        _number(document.get("timestamp")),
    )


def _flags(document: Mapping[str, Any]) -> int:
    terminated = TERMINATED if document.get("terminated") else 0
    return terminated | (TRUNCATED if document.get("truncated") else 0)


def _fits(value: int) -> bool:
    return -_LARGEST <= value <= _LARGEST


def _whole(value: Any) -> int | None:
    return value if type(value) is int and _fits(value) else None


def _name(value: Any) -> str:
    return storable(value) if isinstance(value, str) else ""


def _number(value: Any) -> float | None:
    """Return a number; NaN and infinities come as text."""
    if type(value) is float:
        return value
    if isinstance(value, str) and value not in ("nan", "inf", "-inf"):
        return None
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def _cell(value: Any) -> Any:
    """Return a number as it is, everything else as JSON."""
    kind = type(value)
    if value is None or (kind is int and _fits(value)) or (kind is float and math.isfinite(value)):
        return value
    return _text(value)


def _text(value: Any) -> str:
    return storable(json.dumps(value, separators=(",", ":")))
