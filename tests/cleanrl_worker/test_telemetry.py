"""The metric bridge and the reader of the channel."""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import os
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from cleanrl_worker.channel import Channel
from cleanrl_worker.channel_reader import ChannelReader, LineSplitter, parse_message
from cleanrl_worker.telemetry import MetricBridge

RETURN = "charts/episodic_return"
LOSS = "losses/value_loss"


def count(payload: dict[str, Any] | None) -> int:
    assert payload is not None
    return sum(len(points) for points in payload["points"].values())


def test_an_event_holds_every_point_since_the_one_before() -> None:
    bridge = MetricBridge()
    bridge.add(1, {RETURN: 10.0})
    bridge.add(2, {RETURN: 20.0, LOSS: 0.5})
    assert bridge.take(now=100.0) == {
        "step": 2,
        "values": {RETURN: 20.0, LOSS: 0.5},
        "points": {RETURN: [[1, 10.0], [2, 20.0]], LOSS: [[2, 0.5]]},
    }
    bridge.add(3, {RETURN: 30.0})
    assert bridge.take(now=101.0) == {
        "step": 3,
        "values": {RETURN: 30.0},
        "points": {RETURN: [[3, 30.0]]},
    }


def test_at_most_two_events_a_second() -> None:
    bridge = MetricBridge()
    times = [step * 0.01 for step in range(1_000)]
    sent = []
    for step, now in enumerate(times):
        bridge.add(step, {RETURN: 1.0})
        if bridge.take(now):
            sent.append(now)
    assert len(sent) == 20
    assert all(after - before >= 0.5 for before, after in itertools.pairwise(sent))


def test_nothing_new_is_no_event_but_the_last_one_always_comes() -> None:
    bridge = MetricBridge()
    assert bridge.take(0.0) is None
    assert bridge.take_last(0.0) is None, "a run that logged nothing has nothing to say"
    bridge.add(1, {RETURN: 1.0})
    bridge.add(2, {LOSS: 2.0})
    assert bridge.take(1.0) is not None
    assert bridge.take(2.0) is None
    assert bridge.take_last(2.0) == {"step": 2, "values": {RETURN: 1.0, LOSS: 2.0}, "points": {}}


def test_past_the_limit_neighbours_are_merged_and_the_envelope_stays_true() -> None:
    bridge = MetricBridge(limit=2_000)
    values = [math.sin(step / 50) * step for step in range(100_000)]
    for step, value in enumerate(values):
        bridge.add(step, {RETURN: value})
        if step % 100 == 0:
            bridge.add(step, {LOSS: float(step)})
    payload = bridge.take(0.0)
    assert payload is not None
    assert 1_000 <= count(payload) <= 2_000
    merged = payload["points"][RETURN]
    assert all(len(point) == 4 for point in merged)
    assert min(low for _, low, _, _ in merged) == min(values)
    assert max(high for _, _, high, _ in merged) == max(values)
    assert all(low <= mean <= high for _, low, high, mean in merged)
    assert merged[-1][0] == 99_999
    steps = [point[0] for point in merged]
    assert steps == sorted(steps)
    assert payload["values"][RETURN] == values[-1]


def test_short_series_are_merged_last() -> None:
    bridge = MetricBridge(limit=100)
    for step in range(1_000):
        bridge.add(step, {RETURN: 1.0})
    bridge.add(1_000, {LOSS: 0.5})
    payload = bridge.take(0.0)
    assert payload is not None
    assert payload["points"][LOSS] == [[1_000, 0.5]]
    assert count(payload) <= 100


def test_a_mean_is_over_all_points_that_it_stands_for() -> None:
    bridge = MetricBridge(limit=2)
    for step, value in enumerate([1.0, 2.0, 6.0]):
        bridge.add(step, {RETURN: value})
    payload = bridge.take(0.0)
    assert payload is not None
    assert payload["points"][RETURN] == [[1, 1.0, 2.0, 1.5], [2, 6.0]]


def test_a_nan_hides_neither_bound() -> None:
    bridge = MetricBridge(limit=1)
    for step, value in enumerate([1.0, math.nan, 3.0]):
        bridge.add(step, {LOSS: value})
    payload = bridge.take(0.0)
    assert payload is not None
    step, low, high, mean = payload["points"][LOSS][0]
    assert (step, low, high) == (2, 1.0, 3.0)
    assert math.isnan(mean)


def test_final_values_are_the_last_ones_and_the_mean_of_the_evaluation() -> None:
    bridge = MetricBridge()
    bridge.add(500, {RETURN: 10.0})
    bridge.add(900, {RETURN: 30.0})
    for episode, value in enumerate([100.0, 200.0, 600.0]):
        bridge.add(episode, {"eval/episodic_return": value, "eval/episodic_length": value})
    assert bridge.final_values() == {
        RETURN: 30.0,
        "eval/episodic_return": 300.0,
        "eval/episodic_length": 600.0,
    }
    assert bridge.step == 900, "an evaluation counts episodes, not steps"


def test_lines_are_cut_right_however_the_reads_fall() -> None:
    text = b'{"a":1}\n\n{"b":2}\n{"c":3}\n'
    for size in range(1, len(text) + 1):
        splitter = LineSplitter()
        pieces = [text[start : start + size] for start in range(0, len(text), size)]
        lines = [line for piece in pieces for line in splitter.feed(piece)]
        assert lines == [b'{"a":1}', b"", b'{"b":2}', b'{"c":3}']


def test_a_line_without_end_does_not_take_the_memory(caplog: pytest.LogCaptureFixture) -> None:
    splitter = LineSplitter(limit=10)
    assert splitter.feed(b"x" * 8) == []
    assert splitter.feed(b"x" * 8) == []
    assert splitter.feed(b"x" * 100 + b"\nok\n") == [b"ok"]
    assert len(caplog.records) == 1


@pytest.mark.parametrize(
    "line",
    [
        b"hello",
        b"\xff\xfe",
        b"[]",
        b"{}",
        b'{"kind": "dance"}',
        b'{"kind": ["metric"]}',
        b'{"kind": "metric"}',
        b'{"kind": "metric", "step": 1, "values": {"a": null}}',
        b'{"kind": "metric", "step": "x", "values": {}}',
        b'{"kind": "metric", "step": 1, "values": [1]}',
    ],
)
def test_garbage_is_logged_and_skipped(line: bytes, caplog: pytest.LogCaptureFixture) -> None:
    assert parse_message(line) is None
    assert len(caplog.records) == 1


def test_what_the_algorithm_sends_arrives_as_sent() -> None:
    reading, writing = os.pipe()
    reader, channel = ChannelReader(reading), Channel(writing)
    text = "x" * 10_000_000

    def send() -> None:
        channel.send("metric", step=1, values={LOSS: math.nan})
        channel.send("metric", step=2, values={LOSS: 1.5})
        channel.send("rejected", code="config", message=text)
        os.write(writing, b'{"kind":"finished"')  # cut off by a crash
        os.close(writing)

    sender = threading.Thread(target=send)
    sender.start()
    messages = []
    while not reader.is_at_end:
        messages += reader.read(timeout_s=1.0)
    sender.join()
    reader.close()
    assert [message["kind"] for message in messages] == ["metric", "metric", "rejected"]
    assert math.isnan(messages[0]["values"][LOSS])
    assert messages[2]["message"] == text


def test_a_metric_before_a_long_update_arrives_during_it() -> None:
    reading, writing = os.pipe()
    reader, channel = ChannelReader(reading), Channel(writing)
    is_enough = threading.Event()

    def train() -> None:
        for step in (1, 2, 3):
            channel.send("metric", step=step, values={LOSS: 0.5})
        while not is_enough.is_set():  # no lap, and never idle
            sum(range(1000))

    training = threading.Thread(target=train)
    started = time.monotonic()
    training.start()
    steps: list[int] = []
    while len(steps) < 3 and time.monotonic() < started + 10:
        steps += [message["step"] for message in reader.read(timeout_s=0.1)]
    took_s = time.monotonic() - started
    is_enough.set()
    training.join()
    reader.close()
    os.close(writing)
    assert steps == [1, 2, 3]
    assert took_s < 1.5


def test_messages_of_several_threads_are_whole_and_in_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("cleanrl_worker.channel.SILENCE_S", 0.0)
    monkeypatch.setattr("cleanrl_worker.channel.METRIC_INTERVAL_S", 0.0001)
    reading, writing = os.pipe()
    reader, channel = ChannelReader(reading), Channel(writing)

    def send(sender: int) -> None:
        for number in range(2_000):
            kind = "metric" if number % 50 else "note"
            channel.send(kind, step=number, values={LOSS: sender}, sender=sender)

    senders = [threading.Thread(target=send, args=(sender,)) for sender in range(2)]
    for each in senders:
        each.start()
    found: dict[int, list[int]] = {0: [], 1: []}
    while sum(map(len, found.values())) < 4_000:
        for message in reader.read(timeout_s=10.0):
            found[message["sender"]].append(message["step"])
    for each in senders:
        each.join()
    channel.flush()
    assert reader.read_rest() == []
    assert found[0] == found[1] == list(range(2_000))
    reader.close()
    os.close(writing)


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reading, writing = os.pipe()
    yield reading, writing
    for descriptor in (reading, writing):
        with contextlib.suppress(OSError):  # closed by the test
            os.close(descriptor)


def start_waiting(descriptor: int, monkeypatch: pytest.MonkeyPatch) -> Channel:
    """Return a channel with a metric that waits, and with it the thread that looks for it."""
    monkeypatch.setattr("cleanrl_worker.channel.SILENCE_S", 0.01)
    channel = Channel(descriptor)
    for step in (1, 2):
        channel.send("metric", step=step, values={LOSS: 0.5})
    return channel


def channel_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "channel"]


def wait_for_their_end() -> None:
    deadline = time.monotonic() + 10
    while channel_threads() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert channel_threads() == []


def test_the_thread_ends_with_its_channel(
    pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    channel = start_waiting(pipe[1], monkeypatch)
    assert len(channel_threads()) >= 1
    del channel
    wait_for_their_end()


def test_that_the_worker_is_gone_is_told_to_whoever_sends(
    pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    channel = start_waiting(pipe[1], monkeypatch)
    os.close(pipe[0])
    wait_for_their_end()
    with pytest.raises(BrokenPipeError):
        channel.send("note", text="nobody reads it")


def test_two_messages_in_one_read_are_two_messages() -> None:
    reading, writing = os.pipe()
    lines = [json.dumps({"kind": "model_saved", "path": name}) for name in "ab"]
    os.write(writing, ("\n".join(lines) + "\n").encode())
    os.close(writing)
    reader = ChannelReader(reading)
    assert [message["path"] for message in reader.read(1.0)] == ["a", "b"]
    reader.close()
