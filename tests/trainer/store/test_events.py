"""Lifecycle events: in the order of the spool, each once, with the offset behind them."""

from __future__ import annotations

from mosaic.trainer.store import events
from mosaic.trainer.store.events import StoredEvent
from mosaic.trainer.store.store import Store


def make(offset: int, event: str = "checkpoint_saved") -> StoredEvent:
    return StoredEvent(offset, event, 1.5, f'{{"event":"{event}","offset":{offset}}}')


def append(store: Store, run_id: str, rows: list[StoredEvent], next_offset: int) -> None:
    store.runs.write(lambda c: events.append(c, run_id, rows, next_offset)).result()


def lines(store: Store, run_id: str, limit: int = 100) -> list[str]:
    return store.runs.read(lambda c: events.lines(c, run_id, limit)).result()


def offset(store: Store, run_id: str) -> int:
    return store.runs.read(lambda c: events.offset(c, run_id)).result()


def test_events_come_back_in_the_order_of_the_spool(store: Store) -> None:
    rows = [make(0, "run_started"), make(90), make(1_000_000)]
    append(store, "A", rows[:2], 180)
    append(store, "A", rows[2:], 1_000_090)
    append(store, "B", [make(0)], 90)
    assert lines(store, "A") == [row.line for row in rows]
    assert lines(store, "A", limit=2) == [row.line for row in rows[1:]], "the last ones"
    assert (offset(store, "A"), offset(store, "B"), offset(store, "C")) == (1_000_090, 90, 0)


def test_a_heartbeat_moves_the_offset_alone(store: Store) -> None:
    append(store, "A", [], 70)
    assert (offset(store, "A"), lines(store, "A")) == (70, [])


def test_a_batch_that_comes_again_is_stored_once(store: Store) -> None:
    append(store, "A", [make(0), make(90)], 180)
    append(store, "A", [make(0), make(90)], 180)
    append(store, "A", [make(0)], 90)
    assert lines(store, "A") == [make(0).line, make(90).line]
    assert offset(store, "A") == 180


def test_what_is_removed_leaves_the_others_alone(store: Store) -> None:
    append(store, "A", [make(0)], 90)
    append(store, "B", [make(0)], 90)
    store.runs.write(lambda c: events.remove(c, "A")).result()
    assert (offset(store, "A"), lines(store, "A")) == (0, [])
    assert (offset(store, "B"), lines(store, "B")) == (90, [make(0).line])


def test_odd_text_and_times_are_stored_all_the_same(store: Store) -> None:
    append(store, "A", [StoredEvent(0, "run_failed", float("nan"), "half \udc00 — ∞ \0.")], 90)
    assert lines(store, "A") == ["half ? — ∞ \0."]
