"""Steps and episodes: the lines of the telemetry lane."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from mosaic.contracts.events import finite

STEP_FIELDS = (
    *("run_id", "worker_id", "agent_id", "episode_index", "step_index", "episode_seed"),
    *("action", "observation", "reward", "terminated", "truncated", "info"),
    *("render_payload", "timestamp"),
)
EPISODE_FIELDS = (
    *("run_id", "worker_id", "agent_id", "episode_index", "total_reward", "steps"),
    *("terminated", "truncated", "seed", "metadata", "timestamp"),
)

INITIAL_CREDITS = 200  # new lines that a subscriber is sent before it has asked for more


def telemetry_line(document: Mapping[str, Any]) -> str:
    """Return a step or an episode as a line; NaN and infinities become text."""
    try:
        return json.dumps(document, separators=(",", ":"), allow_nan=False) + "\n"
    except ValueError:
        return json.dumps(finite(document), separators=(",", ":"), allow_nan=False) + "\n"
