"""Lifecycle events: one JSON object a line, whatever the values."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mosaic.contracts.events import EVENTS, Event, finite

PAYLOADS = st.dictionaries(
    st.text(),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=8,
    ),
    max_size=4,
)


def test_the_names_are_those_of_the_contract() -> None:
    assert set(EVENTS) == {
        "run_started", "heartbeat", "metric", "checkpoint_saved", "checkpoint_loaded",
        "stage_changed", "run_completed", "run_failed", "run_cancelled",
    }  # fmt: skip


def test_an_event_has_four_fields() -> None:
    before = time.time()
    document = json.loads(Event.now("metric", "r1", {"step": 1}).to_line())
    assert list(document) == ["event", "run_id", "timestamp", "payload"]
    assert before <= document["timestamp"] <= time.time()


@given(PAYLOADS)
def test_an_event_is_one_line_of_strict_json_and_comes_back(payload: dict[str, object]) -> None:
    line = Event("metric", "r1", payload, 1.5).to_line()
    assert line.endswith("\n")
    assert len(line.splitlines()) == 1
    json.loads(line, parse_constant=pytest.fail)
    assert Event.from_line(line) == Event("metric", "r1", finite(payload), 1.5)


@pytest.mark.parametrize("line", ["", "{", "[]", "3", '{"no": "event"}', '{"event": 3}'])
def test_what_is_no_event_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match=r"not an event|Expecting"):
        Event.from_line(line)


def test_an_unknown_event_of_a_newer_version_can_be_read() -> None:
    assert Event.from_line('{"event": "run_teleported"}').event == "run_teleported"
