"""Steps and episodes come back as they were written, by episode and by return."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from mosaic.trainer.ingest import decode
from mosaic.trainer.store import recordings, retention
from mosaic.trainer.store.recordings import Query
from mosaic.trainer.store.store import Store
from tests.trainer.store.content import ENDED, insert, make_record


def step(episode: int, index: int, **more: Any) -> dict[str, Any]:
    document = {
        "type": "step",
        "run_id": "run",
        "worker_id": "worker",
        "agent_id": "agent",
        "episode_index": episode,
        "step_index": index,
        "episode_seed": 10 + episode,
        "action": index % 4,
        "observation": 3,
        "reward": 0.5,
        "terminated": False,
        "truncated": False,
        "info": {},
        "timestamp": 1.25,
    }
    return {**document, **more}


def episode(index: int, total: float, **more: Any) -> dict[str, Any]:
    document = {
        "type": "episode",
        "run_id": "run",
        "worker_id": "worker",
        "agent_id": "agent",
        "episode_index": index,
        "total_reward": total,
        "steps": 3,
        "terminated": True,
        "truncated": False,
        "seed": 10 + index,
        "metadata": {"success": True},
        "timestamp": 2.5,
    }
    return {**document, **more}


def record(store: Store, *documents: dict[str, Any], run_id: str = "run") -> None:
    data = b"".join(json.dumps(document).encode() + b"\n" for document in documents)
    decoded = decode(data, 0, events_from=0, points_from=0)
    assert decoded.garbage == 0
    store.telemetry.write(
        lambda c: recordings.insert(c, run_id, decoded.steps, decoded.episodes)
    ).result()


def steps(store: Store, **query: Any) -> list[dict[str, Any]]:
    page = store.telemetry.read(lambda c: recordings.read_steps(c, "run", Query(**query))).result()
    return [json.loads(line) for line in page.lines]


def episodes(store: Store, **query: Any) -> list[dict[str, Any]]:
    page = store.telemetry.read(
        lambda c: recordings.read_episodes(c, "run", Query(**query))
    ).result()
    return [json.loads(line) for line in page.lines]


def test_what_was_written_is_read(store: Store) -> None:
    written = [
        step(0, 0),
        step(0, 1, action=[0.25, -1.0], observation={"image": [[1, 2]], "mission": "öffnen"}),
        step(0, 2, action="left", observation=None, info={"beliefs": ["at(3)"]}, terminated=True),
        step(1, 0, action=None, reward=-1.0, truncated=True, episode_seed=None),
        step(1, 1, observation=True, render_payload={"mode": "jpeg", "data": "aGk="}),
    ]
    record(store, *written[:2])
    record(store, *written[2:], episode(0, 1.5))
    assert steps(store) == written
    assert episodes(store) == [episode(0, 1.5)]


def test_numbers_that_json_lacks(store: Store) -> None:
    record(store, step(0, 0, reward="nan"), step(0, 1, reward="-inf"))
    assert [row["reward"] for row in steps(store)] == ["nan", "-inf"]
    stored = store.telemetry.read(
        lambda c: c.execute("SELECT reward FROM steps ORDER BY position").fetchall()
    ).result()
    assert stored == [(None,), (-math.inf,)]


@pytest.mark.parametrize(
    "wrong",
    [
        {"type": "step"},
        step(0, 0, reward="much"),
        step(0, 2**70),
        {**episode(0, 1.0), "steps": None},
        {"type": "party", "episode_index": 0},
    ],
)
def test_a_line_that_is_no_step_is_garbage(wrong: dict[str, Any]) -> None:
    decoded = decode(json.dumps(wrong).encode(), 0, events_from=0, points_from=0)
    assert (decoded.garbage, decoded.steps, decoded.episodes) == (1, [], [])


def test_the_steps_of_an_episode_among_those_of_two_agents(store: Store) -> None:
    """Two agents step in turns; one of them is an episode ahead."""
    record(
        store,
        *(step(0, n, agent_id="a") for n in range(3)),
        *(
            document
            for n in range(3)
            for document in (step(1, n, agent_id="a"), step(0, n, agent_id="b"))
        ),
        step(2, 0, agent_id="a"),
        step(1, 0, agent_id="b"),
    )
    first = steps(store, episode_index=0)
    assert [(row["agent_id"], row["step_index"]) for row in first] == [
        *(("a", 0), ("a", 1), ("a", 2), ("b", 0), ("b", 1), ("b", 2))
    ]
    assert len(steps(store, episode_index=1)) == 4
    assert len(steps(store, episode_index=2)) == 1
    assert steps(store, episode_index=9) == []


def test_pages_go_on_where_the_one_before_ended(store: Store) -> None:
    record(store, *(step(0, n) for n in range(10)))
    seen, index = [], 0
    while index is not None:
        page = store.telemetry.read(
            lambda c, at=index: recordings.read_steps(c, "run", Query(from_index=at, limit=4))
        ).result()
        seen += [json.loads(line)["step_index"] for line in page.lines]
        index = page.next_index
    assert seen == list(range(10))


def test_episodes_by_return(store: Store) -> None:
    returns = [1.0, 5.0, -2.0, 5.0, 0.0]
    record(store, *(episode(n, total) for n, total in enumerate(returns)))
    best = [row["episode_index"] for row in episodes(store, by_return=True)]
    assert best == [1, 3, 0, 4, 2]
    worst = episodes(store, by_return=True, ascending=True, from_index=1, limit=2)
    assert [row["episode_index"] for row in worst] == [4, 0]
    assert [row["total_reward"] for row in episodes(store, episode_index=2)] == [-2.0]


def test_a_trimmed_recording_keeps_its_episodes(store: Store) -> None:
    insert(store.runs, make_record("run", **ENDED, ended_at=100.0), make_record("training"))
    record(store, *(step(0, n) for n in range(100)), episode(0, 1.0))
    record(store, step(0, 0), run_id="training")
    assert retention.trim(store.telemetry, store.runs, 0) == ["run"]
    assert (steps(store), len(episodes(store))) == ([], 1)
    found = store.telemetry.read(lambda c: recordings.find(c, "run")).result()
    assert found is not None
    assert found.is_trimmed
    kept = store.telemetry.read(lambda c: recordings.find(c, "training")).result()
    assert kept is not None
    assert (kept.steps, kept.is_trimmed) == (1, False)


def test_a_removed_recording_is_gone_at_once_and_its_rows_soon(store: Store) -> None:
    record(store, *(step(0, n) for n in range(10)), episode(0, 1.0))
    store.telemetry.write(lambda c: recordings.remove(c, "run")).result()
    assert (steps(store), episodes(store)) == ([], [])
    retention.sweep(store.telemetry)
    for table in ("steps", "episodes", "recordings"):
        assert store.telemetry.read(
            lambda c, name=table: c.execute(f"SELECT COUNT(*) FROM {name}").fetchone()
        ).result() == (0,)
