"""The client: what it asks, what it gets back, and what a failure becomes."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from mosaic.client.asynchronous import AsyncClient
from mosaic.client.blocking import Client
from mosaic.client.connecting import connect, connect_async
from mosaic.client.faults import DaemonFault
from mosaic.contracts.errors import ConfigError, DaemonUnreachable, NotAllowed, NotFound
from mosaic.contracts.paths import VarPaths
from tests.client.toy_daemon import TOKEN, ToyDaemon


@pytest.fixture
def client(daemon: ToyDaemon) -> Iterator[Client]:
    with connect(VarPaths(daemon.var)) as found:
        yield found


def config(env_id: str = "Toy-v0") -> dict[str, object]:
    worker = {"algo": "toy", "env_id": env_id, "total_timesteps": 10, "seed": 1, "extras": {}}
    return {"metadata": {"worker": {"module": "toy_worker.cli", "config": worker}}}


def test_a_run_is_submitted_found_and_cancelled(client: Client, daemon: ToyDaemon) -> None:
    run = client.submit(config(), secrets={"WANDB_API_KEY": "k"}).run
    assert daemon.secrets[run.run_id] == {"WANDB_API_KEY": "k"}
    assert client.get_run(run.run_id).run == daemon.runs[run.run_id]
    assert client.cancel(run.run_id).is_cancelling
    updates = client.watch_runs([run.run_id], timeout_s=10)
    assert next(u.run.outcome for u in updates if u.run.outcome) == "cancelled"


def test_every_page_is_read(client: Client, daemon: ToyDaemon) -> None:
    ids = [daemon.add().run_id for _ in range(25)]
    assert [run.run_id for run in client.all_runs(page_size=10)] == sorted(ids, reverse=True)
    assert client.list_runs(page_size=10).total_count == 25


def test_a_watch_tells_of_changes_and_ends_after_its_time(
    client: Client, daemon: ToyDaemon
) -> None:
    run = daemon.add()
    threading.Timer(0.05, daemon.change, (run.run_id,), {"step": 7}).start()
    told = [update.run.step for update in client.watch_runs([run.run_id], timeout_s=0.5)]
    assert told == [0, 0, 7]  # the snapshot, its end, the change


def test_closing_the_client_ends_its_streams(client: Client, daemon: ToyDaemon) -> None:
    threading.Timer(0.1, client.close).start()
    assert [update.is_snapshot_end for update in client.watch_runs()] == [True]


def test_the_error_that_the_daemon_raised_is_raised_here(client: Client) -> None:
    with pytest.raises(ConfigError) as refused:
        client.submit(config("Refuse-v0"))
    assert refused.value.one_line() == "env_id='Refuse-v0' is refused. Try Toy-v0."
    with pytest.raises(NotFound, match="There is no run 'nothing'"):
        client.get_run("nothing")
    with pytest.raises(NotFound, match="There is no run 'nothing'"):
        next(client.logs("nothing"))


def test_a_bug_of_the_daemon_is_no_error_of_the_user(client: Client) -> None:
    with pytest.raises(DaemonFault, match="a bug of the daemon's"):
        client.workers()


def test_a_call_of_another_version_is_named(client: Client) -> None:
    with pytest.raises(ConfigError, match="does not know this call"):
        client.worker_schema("toy")


def test_a_wrong_token_is_refused(daemon: ToyDaemon) -> None:
    with Client(daemon.target, "wrong") as stranger, pytest.raises(NotAllowed, match="the token"):
        stranger.health()


def test_a_daemon_that_went_away_is_unreachable(client: Client, daemon: ToyDaemon) -> None:
    stream = client.watch_runs()
    assert next(stream).is_snapshot_end
    daemon._server.stop(0).wait()
    with pytest.raises(DaemonUnreachable, match="does not answer"):
        next(stream)
    with pytest.raises(DaemonUnreachable) as gone:
        client.health()
    assert gone.value.exit_code == 4


def test_a_proxy_of_the_environment_is_not_asked(
    daemon: ToyDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    with Client(daemon.target, TOKEN) as found:
        assert found.health().version == "1"


def test_both_clients_have_the_same_calls() -> None:
    def calls(kind: type) -> dict[str, list[str]]:
        methods = inspect.getmembers(kind, inspect.isfunction)
        return {
            name: list(inspect.signature(method).parameters)
            for name, method in methods
            if not name.startswith("_")
        }

    assert calls(Client) == calls(AsyncClient)


async def test_the_asynchronous_client_does_the_same(daemon: ToyDaemon) -> None:
    async with await connect_async(VarPaths(daemon.var)) as client:
        run = (await client.submit(config())).run
        assert [each.run_id async for each in client.all_runs()] == [run.run_id]
        await client.cancel(run.run_id)
        async for update in client.watch_runs([run.run_id], timeout_s=10):
            if update.run.outcome:
                break
        assert update.run.outcome == "cancelled"
        assert b"".join([chunk async for chunk in client.logs(run.run_id, lines=1)]) == b"third\n"
        with pytest.raises(NotFound, match="There is no run 'nothing'"):
            await client.get_run("nothing")
        with pytest.raises(NotFound, match="There is no run 'nothing'"):
            async for _ in client.metrics("nothing"):
                pass


async def test_a_stream_ends_when_its_time_is_over(daemon: ToyDaemon) -> None:
    async with await connect_async(VarPaths(daemon.var)) as client:
        assert len([update async for update in client.watch_runs(timeout_s=0.2)]) == 1
        await asyncio.sleep(0)


@pytest.mark.parametrize("target", ["localhost", "http://127.0.0.1:50055", "127.0.0.1:port"])
def test_a_malformed_address_is_refused(
    var_dir: Path, monkeypatch: pytest.MonkeyPatch, target: str
) -> None:
    monkeypatch.setenv("MOSAIC_GRPC_TARGET", target)
    with pytest.raises(ConfigError, match="give host:port"):
        connect(VarPaths(var_dir))


def test_an_address_without_a_token_says_what_to_set(
    var_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOSAIC_GRPC_TARGET", "127.0.0.1:1")
    with pytest.raises(DaemonUnreachable, match="is missing"):
        connect(VarPaths(var_dir))


def test_without_a_daemon_none_is_started_unasked(
    var_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MOSAIC_GRPC_TARGET", raising=False)
    with pytest.raises(DaemonUnreachable) as none:
        connect(VarPaths(var_dir), start=False)
    assert "No trainer daemon runs for" in none.value.one_line()
    assert list(var_dir.iterdir()) == []
