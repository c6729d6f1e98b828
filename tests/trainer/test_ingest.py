"""Bytes of a spool become events and points, each once, whatever else was printed."""

from __future__ import annotations

import json
import math

from mosaic.contracts.events import Event
from mosaic.trainer.ingest import Decoded, decode


def line(event: str, **payload: object) -> bytes:
    return Event.now(event, "r", payload).to_line().encode()


def read(data: bytes, *, events_from: int = 0, points_from: int = 0) -> Decoded:
    return decode(data, 0, events_from=events_from, points_from=points_from)


def test_points_and_events_are_told_apart() -> None:
    metric = line(
        "metric",
        step=7,
        values={"charts/episodic_return": 2.0, "charts/SPS": 900.0},
        points={"charts/episodic_return": [[6, 1.0], [7, 2.0]], "losses/x": [[7, 0.1, 0.9, 0.5]]},
    )
    decoded = read(line("run_started", seed=3) + metric + line("checkpoint_saved", step=7))
    assert [event.event for event in decoded.events] == ["run_started", "checkpoint_saved"]
    assert decoded.points == [
        ("charts/episodic_return", 6, 1.0, 1.0, 1.0, 1),
        ("charts/episodic_return", 7, 2.0, 2.0, 2.0, 1),
        ("losses/x", 7, 0.5, 0.1, 0.9, 2),
    ]
    assert (decoded.started["seed"], decoded.step, decoded.last_return) == (3, 7, 2.0)
    assert decoded.steps_per_second == 900.0
    assert decoded.has_worked


def test_offsets_of_events_are_those_of_the_spool() -> None:
    first = line("run_started")
    decoded = decode(first + line("run_completed"), 1000, events_from=0, points_from=0)
    assert [event.offset for event in decoded.events] == [1000, 1000 + len(first)]
    assert decoded.last_event == "run_completed"


def test_what_one_database_has_is_given_to_the_other_alone() -> None:
    metric = line("metric", step=1, values={}, points={"a": [[1, 1.0]]})
    saved = line("checkpoint_saved", step=1)
    behind = read(metric + saved, events_from=0, points_from=len(metric))
    assert behind.points == []
    assert len(behind.events) == 1
    ahead = read(metric + saved, events_from=len(metric + saved), points_from=0)
    assert len(ahead.points) == 1
    assert ahead.events == []


def test_garbage_is_counted_and_the_rest_goes_on() -> None:
    noise = [b"Hello\n", b"\xff\xfe\n", b"[1]\n", b'{"event": "party"}\n', b"[" * 100_000 + b"\n"]
    decoded = read(b"\n".join(noise) + line("run_completed"))
    assert decoded.garbage == len(noise)
    assert decoded.first_garbage == "Hello"
    assert decoded.last_event == "run_completed"


def test_numbers_that_json_lacks_and_numbers_that_are_none() -> None:
    points = {"a": [[1, "nan"], [2, "inf"], [3, None], ["x", 1.0], [4], 5, [2**70, 1.0]]}
    decoded = read(line("metric", step=1, values={"charts/SPS": "nan"}, points=points))
    assert [point[1] for point in decoded.points] == [1, 2]
    assert math.isnan(decoded.points[0][2])
    assert decoded.steps_per_second is None


def test_numbers_that_no_database_holds_are_left_out() -> None:
    huge = 10**400
    text = json.dumps(
        {
            "event": "metric",
            "timestamp": huge,
            "payload": {"step": huge, "values": {"charts/SPS": huge}, "points": {"a": [[1, huge]]}},
        }
    )
    decoded = read(text.encode() + b"\n")
    assert (decoded.step, decoded.steps_per_second, decoded.points) == (None, None, [])


def test_a_payload_that_is_no_object_is_empty() -> None:
    text = json.dumps({"event": "metric", "payload": [1], "timestamp": "now"}).encode()
    assert read(text).points == []
