"""Steps and episodes from a worker's stdout to the store and to whoever watches."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from mosaic.client.blocking import Client
from mosaic.contracts.errors import NotFound
from mosaic.contracts.telemetry import INITIAL_CREDITS
from mosaic.contracts.tokens import read_token
from mosaic.proto import trainer_pb2 as pb
from mosaic.trainer.credits import LineWatcher
from tests.trainer.daemons import SITE, Daemon, running


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with pytest.MonkeyPatch.context() as patch:
        path = os.pathsep.join(filter(None, [str(SITE), os.environ.get("PYTHONPATH")]))
        patch.setenv("PYTHONPATH", path)
        with running(tmp_path_factory.mktemp("lane") / "var") as served:
            yield served


@pytest.fixture
def client(daemon: Daemon) -> Iterator[Client]:
    info = json.loads(daemon.paths.daemon_info.read_text())
    token = read_token(daemon.paths.daemon_token)
    assert token is not None
    with Client(f"127.0.0.1:{info['port']}", token) as connected:
        yield connected


def lines(feed: object) -> list[dict[str, object]]:
    return [json.loads(line) for update in feed for line in update.lines]  # type: ignore[attr-defined]


def test_every_step_is_stored_once_and_in_order(daemon: Daemon, client: Client) -> None:
    run_id = daemon.submit("Walk-v0", steps=2_000, rate=20_000.0)
    run = daemon.wait_for(run_id, "TERMINATED")
    assert (run.outcome, run.last_return) == ("succeeded", 199 % 7)
    assert [row["observation"] for row in lines(client.steps(run_id))] == list(range(2_000))
    assert [row["episode_index"] for row in lines(client.episodes(run_id))] == list(range(200))


def test_an_episode_and_the_best_episodes(daemon: Daemon, client: Client) -> None:
    run_id = daemon.submit("Walk-v0", steps=200, rate=20_000.0)
    daemon.wait_for(run_id, "TERMINATED")
    rows = lines(client.steps(run_id, episode_index=7))
    assert [row["observation"] for row in rows] == list(range(70, 80))
    assert rows[-1]["terminated"] is True
    best = lines(client.episodes(run_id, by_return=True, limit=3))
    assert [row["episode_index"] for row in best] == [6, 13, 5]


def test_a_subscriber_without_credits_starves_and_the_store_does_not(
    daemon: Daemon, client: Client
) -> None:
    run_id = daemon.submit("Walk-v0", steps=6_000, rate=2_000.0)
    daemon.wait_for(run_id, "EXECUTING")
    feed = client.steps(run_id, follow=True, only_new=True)
    flows: list[tuple[int, int]] = []
    received = granted = 0
    for update in feed:
        received += len(update.lines)
        if update.flow != pb.FLOWING:
            flows.append((update.flow, update.skipped))
        if update.flow == pb.STARVED and not granted:
            assert received == INITIAL_CREDITS
            granted = 50
            feed.grant(granted)
    assert [flow for flow, _ in flows[:2]] == [pb.STARVED, pb.RESUMED]
    assert flows[1][1] >= flows[0][1] > 0
    assert received == INITIAL_CREDITS + granted
    assert flows[-1][0] == pb.STARVED, "the second allowance was used up as well"
    assert len(lines(client.steps(run_id))) == 6_000


def test_a_reader_with_credits_gets_what_comes_without_a_gap(
    daemon: Daemon, client: Client
) -> None:
    """It comes in the middle: what is stored and what is new meet without a gap or a double."""
    run_id = daemon.submit("Walk-v0", steps=3_000, rate=2_000.0)
    daemon.wait_for(run_id, "EXECUTING")
    rows = lines(client.steps(run_id, follow=True, credits=10_000))
    assert [row["observation"] for row in rows] == list(range(3_000))


def test_a_run_without_telemetry_and_one_that_is_not_there(daemon: Daemon, client: Client) -> None:
    run_id = daemon.submit("Tick-v0", steps=1)
    daemon.wait_for(run_id, "TERMINATED")
    [update] = list(client.steps(run_id, follow=False))
    assert (update.is_snapshot_end, update.total) == (True, 0)
    with pytest.raises(NotFound, match="'nobody'"):
        list(client.steps("nobody"))


def test_a_purged_run_leaves_no_step(daemon: Daemon, client: Client) -> None:
    run_id = daemon.submit("Walk-v0", steps=100, rate=20_000.0)
    daemon.wait_for(run_id, "TERMINATED")
    client.delete(run_id, purge=True)
    with sqlite3.connect(daemon.paths.telemetry_database) as connection:
        rows = connection.execute("SELECT * FROM recordings WHERE run_id = ?", (run_id,)).fetchall()
    assert rows == []


async def test_credits_are_counted_line_by_line() -> None:
    watcher = LineWatcher(credits=3)
    watcher.put(0, [b"a", b"b"])
    watcher.put(2, [b"c", b"d", b"e"])
    watcher.put(5, [b"f"])
    news = await watcher.take(0.1)
    assert [list(each.lines) for each in news] == [["a", "b"], ["c"], [], []]
    assert [(each.flow, each.skipped) for each in news[2:]] == [(pb.STARVED, 2), (pb.STARVED, 3)]
    watcher.grant(1)
    watcher.put(6, [b"g"])
    resumed, last = await watcher.take(0.1)
    assert (resumed.flow, resumed.skipped) == (pb.RESUMED, 3)
    assert (list(last.lines), last.first_index) == (["g"], 6)


def test_the_root_of_the_lane_is_the_spool(daemon: Daemon) -> None:
    """What the worker wrote is kept as it was."""
    run_id = daemon.submit("Walk-v0", steps=10, rate=20_000.0)
    daemon.wait_for(run_id, "TERMINATED")
    spool = Path(daemon.details(run_id).run_dir) / "events.jsonl"
    types = [json.loads(line).get("type") for line in spool.read_text().splitlines()]
    assert types.count("step") == 10
