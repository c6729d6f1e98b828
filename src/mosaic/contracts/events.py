"""Lifecycle events: one JSON object a line."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

EVENTS = (
    "run_started",
    "heartbeat",
    "metric",
    "checkpoint_saved",
    "checkpoint_loaded",
    "stage_changed",
    "run_completed",
    "run_failed",
    "run_cancelled",
)

HEARTBEAT_INTERVAL_S = 30.0
METRIC_INTERVAL_S = 0.5  # at most two metric events a second
METRIC_POINTS_LIMIT = 2_000  # past this an event's points are merged
STDERR_TAIL_LINES = 20


@dataclass(frozen=True, slots=True)
class Event:
    event: str
    run_id: str | None
    payload: Mapping[str, Any]
    timestamp: float

    @classmethod
    def now(cls, event: str, run_id: str | None, payload: Mapping[str, Any]) -> Event:
        assert event in EVENTS, event
        return cls(event, run_id, payload, time.time())

    def to_line(self) -> str:
        document = {
            "event": self.event,
            "run_id": self.run_id,
            "timestamp": self.timestamp,
            "payload": finite(self.payload),
        }
        return json.dumps(document, separators=(",", ":"), allow_nan=False) + "\n"

    @classmethod
    def from_line(cls, line: str) -> Event:
        """Parse one line; a ValueError says what is wrong with it."""
        document = json.loads(line)
        if not isinstance(document, dict) or not isinstance(document.get("event"), str):
            raise ValueError("not an event: no field 'event'")
        payload = document.get("payload")
        return cls(
            event=document["event"],
            run_id=document.get("run_id"),
            payload=payload if isinstance(payload, dict) else {},
            timestamp=float(document.get("timestamp") or 0.0),
        )


def finite(value: Any) -> Any:
    """Return the value with NaN and infinities as strings, which JSON has no numbers for."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return value
