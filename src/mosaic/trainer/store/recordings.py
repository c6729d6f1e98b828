"""The telemetry lane of a run: every step and every episode, in the order they came."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mosaic.contracts.telemetry import telemetry_line
from mosaic.trainer.store.bulk import insert_many

# worker_id, agent_id, episode_index, step_index, episode_seed, action, observation, reward, flags,
# info, render_payload, timestamp
StepRow = tuple[Any, ...]
# worker_id, agent_id, episode_index, total_reward, steps, flags, seed, metadata, timestamp
EpisodeRow = tuple[Any, ...]

TERMINATED, TRUNCATED = 1, 2


@dataclass(frozen=True, slots=True)
class Recording:
    """What is stored of a run. A trimmed one has its episodes and no steps."""

    recording_id: int
    agents: tuple[tuple[str, str], ...]  # worker and agent
    steps: int
    episodes: int
    is_trimmed: bool = False


@dataclass(frozen=True, slots=True)
class Page:
    """Some lines, and where to go on; `next_index` is None behind the last."""

    lines: list[str]
    first_index: int
    next_index: int | None


@dataclass(frozen=True, slots=True)
class Query:
    """Which lines to read. `episode_index` leaves the others out."""

    from_index: int = 0
    limit: int = 1000
    episode_index: int | None = None
    by_return: bool = False
    ascending: bool = False


def find(connection: sqlite3.Connection, run_id: str) -> Recording | None:
    row = connection.execute(
        "SELECT recording_id, agents, steps, episodes, is_trimmed FROM recordings WHERE run_id = ?",
        (run_id,),
    ).fetchone()
    if row is None:
        return None
    agents = tuple((worker, agent) for worker, agent in json.loads(row[1]))
    return Recording(row[0], agents, row[2], row[3], bool(row[4]))


def insert(
    connection: sqlite3.Connection,
    run_id: str,
    steps: Sequence[StepRow],
    episodes: Sequence[EpisodeRow],
) -> Recording:
    """Store steps and episodes behind those that are there; return how many there were before."""
    before = find(connection, run_id) or _new(connection, run_id)
    named = dict.fromkeys((*before.agents, *(row[:2] for row in steps), *(r[:2] for r in episodes)))
    places = {agent: place for place, agent in enumerate(named)}
    for table, position, rows in (
        ("steps", before.steps, steps),
        ("episodes", before.episodes, episodes),
    ):
        placed = [
            (before.recording_id, number, places[row[:2]], *row[2:])
            for number, row in enumerate(rows, position)
        ]
        insert_many(connection, f"INSERT INTO {table} VALUES", placed)
    connection.execute(
        "UPDATE recordings SET agents = ?, steps = ?, episodes = ? WHERE recording_id = ?",
        (
            json.dumps(list(named)),
            before.steps + len(steps),
            before.episodes + len(episodes),
            before.recording_id,
        ),
    )
    return before


def _new(connection: sqlite3.Connection, run_id: str) -> Recording:
    cursor = connection.execute(
        "INSERT INTO recordings (run_id, agents, steps, episodes) VALUES (?, '[]', 0, 0)", (run_id,)
    )
    assert cursor.lastrowid is not None
    return Recording(cursor.lastrowid, (), 0, 0)


def read_steps(connection: sqlite3.Connection, run_id: str, query: Query) -> Page:
    """Return steps in their order."""
    recording = find(connection, run_id)
    if recording is None:
        return Page([], query.from_index, None)
    low, high = query.from_index, recording.steps
    condition = ""
    values: tuple[int, ...] = ()
    if query.episode_index is not None:
        first, behind = _bounds(connection, recording, query.episode_index)
        low, high = max(low, first), min(high, behind)
        condition, values = "AND episode_index = ?", (query.episode_index,)
    rows = connection.execute(
        "SELECT position, agent, episode_index, step_index, episode_seed, action, observation, "
        "reward, flags, info, render_payload, timestamp FROM steps WHERE recording_id = ? "
        f"AND position >= ? AND position < ? {condition} ORDER BY position LIMIT ?",
        (recording.recording_id, low, high, *values, query.limit + 1),
    ).fetchall()
    return _page(run_id, recording, rows, query, _step_line)


def _bounds(
    connection: sqlite3.Connection, recording: Recording, episode_index: int
) -> tuple[int, int]:
    """Return the positions between which the steps of an episode lie, those of all its agents."""
    starts = connection.execute(
        "SELECT agent, position FROM steps WHERE recording_id = ? AND episode_index = ? "
        "AND step_index = 0",
        (recording.recording_id, episode_index),
    ).fetchall()
    if not starts:
        return 0, recording.steps
    ends = []
    for agent, _ in starts:
        (end,) = connection.execute(
            "SELECT position FROM steps WHERE recording_id = ? AND episode_index = ? AND "
            "agent = ? AND step_index = 0",
            (recording.recording_id, episode_index + 1, agent),
        ).fetchone() or (recording.steps,)
        ends.append(end)
    return min(position for _, position in starts), max(ends)


def read_episodes(connection: sqlite3.Connection, run_id: str, query: Query) -> Page:
    """Return episodes in their order, or by their return; then the index counts in that order."""
    recording = find(connection, run_id)
    if recording is None:
        return Page([], query.from_index, None)
    columns = (
        "SELECT position, agent, episode_index, total_reward, steps, flags, seed, metadata, "
        "timestamp FROM episodes WHERE recording_id = ?"
    )
    if query.by_return:
        order = "ASC" if query.ascending else "DESC"
        rows = connection.execute(
            f"{columns} ORDER BY total_reward {order}, position LIMIT ? OFFSET ?",
            (recording.recording_id, query.limit + 1, query.from_index),
        ).fetchall()
        rows = [(query.from_index + number, *row[1:]) for number, row in enumerate(rows)]
    else:
        wanted = "" if query.episode_index is None else "AND episode_index = ?"
        values = () if query.episode_index is None else (query.episode_index,)
        rows = connection.execute(
            f"{columns} AND position >= ? {wanted} ORDER BY position LIMIT ?",
            (recording.recording_id, query.from_index, *values, query.limit + 1),
        ).fetchall()
    return _page(run_id, recording, rows, query, _episode_line)


def _page(run_id: str, recording: Recording, rows: list[Any], query: Query, line: Any) -> Page:
    shown = rows[: query.limit]
    return Page(
        lines=[line(run_id, recording.agents[row[1]], row) for row in shown],
        first_index=shown[0][0] if shown else query.from_index,
        next_index=rows[query.limit][0] if len(rows) > query.limit else None,
    )


def _step_line(run_id: str, agent: tuple[str, str], row: tuple[Any, ...]) -> str:
    document = {
        "type": "step",
        "run_id": run_id,
        "worker_id": agent[0],
        "agent_id": agent[1],
        "episode_index": row[2],
        "step_index": row[3],
        "episode_seed": row[4],
        "action": _value(row[5]),
        "observation": _value(row[6]),
        "reward": "nan" if row[7] is None else row[7],
        "terminated": bool(row[8] & TERMINATED),
        "truncated": bool(row[8] & TRUNCATED),
        "info": {} if row[9] is None else json.loads(row[9]),
    }
    if row[10] is not None:
        document["render_payload"] = json.loads(row[10])
    return telemetry_line({**document, "timestamp": row[11]}).rstrip("\n")


def _episode_line(run_id: str, agent: tuple[str, str], row: tuple[Any, ...]) -> str:
    document = {
        "type": "episode",
        "run_id": run_id,
        "worker_id": agent[0],
        "agent_id": agent[1],
        "episode_index": row[2],
        "total_reward": "nan" if row[3] is None else row[3],
        "steps": row[4],
        "terminated": bool(row[5] & TERMINATED),
        "truncated": bool(row[5] & TRUNCATED),
        "seed": row[6],
        "metadata": {} if row[7] is None else json.loads(row[7]),
        "timestamp": row[8],
    }
    return telemetry_line(document).rstrip("\n")


def _value(cell: Any) -> Any:
    """Return what a cell stands for: a number as it is, everything else is JSON."""
    return json.loads(cell) if isinstance(cell, str) else cell


def remove(connection: sqlite3.Connection, run_id: str) -> None:
    """Forget a run's recording at once; retention.sweep gives its room back bit by bit."""
    connection.execute(
        "UPDATE recordings SET run_id = NULL, has_leftovers = 1 WHERE run_id = ?", (run_id,)
    )
