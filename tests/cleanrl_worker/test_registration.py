"""`cleanrl-worker --grpc`: the daemon knows the worker before the algorithm starts."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from cleanrl_worker.config import parse_config
from cleanrl_worker.registration import register_worker
from mosaic.contracts.errors import NotFound
from mosaic.contracts.tokens import run_token
from tests.cleanrl_worker.conftest import CONFIG, RunWorker
from tests.cleanrl_worker.test_cli import check_refused
from tests.workers.fake_daemon import DAEMON_TOKEN, FakeDaemon

RUN_ID = CONFIG["run_id"]


class Daemon(FakeDaemon):
    """Notes whether the run had begun when its worker registered."""

    had_begun: bool | None = None
    knows_the_run = True

    def RegisterWorker(self, request: Any, context: Any) -> Any:  # noqa: N802
        if not self.knows_the_run:
            context.set_trailing_metadata((("mosaic-error", "not_found"),))
            context.abort(grpc.StatusCode.NOT_FOUND, f"There is no run {RUN_ID!r}.")
        self.had_begun = self.paths.run(RUN_ID).root.exists()
        return super().RegisterWorker(request, context)


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    daemon = Daemon(tmp_path / "data", RUN_ID)
    daemon.start()
    yield daemon
    daemon.stop()


def unused_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def test_a_worker_registers_itself_before_it_starts_the_algorithm(
    run_worker: RunWorker, daemon: Daemon
) -> None:
    extras = {**CONFIG["extras"], "save_model": False}
    done = run_worker(
        "--grpc",
        config={**CONFIG, "total_timesteps": 256, "extras": extras},
        MOSAIC_VAR_DIR=str(daemon.paths.root),
        MOSAIC_RUN_TOKEN=run_token(DAEMON_TOKEN, RUN_ID),
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert daemon.had_begun is False
    (request,) = daemon.registrations
    assert (request.run_id, request.worker_kind) == (RUN_ID, "cleanrl")
    assert request.worker_id == f"cleanrl-worker-{RUN_ID[:8]}"
    assert (request.proto_version, request.schema_id) == ("MOSAIC/1.0", "cleanrl.ppo")
    assert (request.schema_version, request.supports_pause) == (1, True)
    assert request.supports_checkpoint


def test_extras_name_other_fields_and_the_users_token_will_do(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MOSAIC_RUN_TOKEN", raising=False)
    monkeypatch.delenv("MOSAIC_GRPC_TARGET", raising=False)
    daemon.paths.daemon_token.write_text(DAEMON_TOKEN)
    extras = {"schema_id": "mine", "schema_version": 3, "supports_pause": False}
    config = parse_config({**CONFIG, "worker_id": "w-1", "extras": extras})
    register_worker(config, daemon.paths, None)
    (request,) = daemon.registrations
    assert (request.worker_id, request.schema_id, request.schema_version) == ("w-1", "mine", 3)
    assert (request.supports_pause, request.supports_checkpoint) == (False, True)


def test_a_daemon_that_does_not_answer(run_worker: RunWorker, tmp_path: Path) -> None:
    address = f"127.0.0.1:{unused_port()}"
    flags = ("--grpc", "--grpc-target", address)
    done = run_worker(*flags, config=CONFIG, MOSAIC_RUN_TOKEN="0" * 64)
    check_refused(done, tmp_path, code=4, says=f"The trainer daemon at {address} cannot be reached")
    assert "mosaic daemon start" in done.stderr
    done = run_worker("--grpc", config=CONFIG, MOSAIC_GRPC_TARGET=address)
    check_refused(done, tmp_path, code=4, says="There is no token of a trainer daemon")


def test_a_wrong_token(run_worker: RunWorker, daemon: Daemon, tmp_path: Path) -> None:
    done = run_worker(
        "--grpc", config=CONFIG, MOSAIC_VAR_DIR=str(daemon.paths.root), MOSAIC_RUN_TOKEN="wrong"
    )
    check_refused(done, tmp_path, says="refused this worker: The token is wrong.")
    assert not daemon.paths.run(RUN_ID).root.exists()


def test_the_daemons_own_error_is_the_workers(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOSAIC_RUN_TOKEN", DAEMON_TOKEN)
    daemon.knows_the_run = False
    with pytest.raises(NotFound, match=f"There is no run '{RUN_ID}'"):
        register_worker(parse_config(CONFIG), daemon.paths, None)


def test_a_config_that_is_wrong_is_not_registered(run_worker: RunWorker, daemon: Daemon) -> None:
    config = {**CONFIG, "algo": "pppo"}
    done = run_worker(
        "--grpc",
        config=config,
        MOSAIC_VAR_DIR=str(daemon.paths.root),
        MOSAIC_RUN_TOKEN=DAEMON_TOKEN,
    )
    assert done.returncode == 2
    assert daemon.registrations == []
