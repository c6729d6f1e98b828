"""Export, purge, import: the same run again. And what an archive from elsewhere may not do."""

from __future__ import annotations

import contextlib
import io
import json
import random
import stat
import zipfile
from pathlib import Path
from typing import Any

import grpc
import pytest

from mosaic.client.blocking import Client
from mosaic.contracts.errors import MosaicError
from mosaic.contracts.tokens import read_token
from mosaic.proto import trainer_pb2 as pb
from mosaic.proto.trainer_pb2_grpc import TrainerStub
from mosaic.trainer.archive import reading
from mosaic.trainer.archive.reading import RunArchive
from tests.trainer.daemons import Daemon

TAG = "charts/episodic_return"
PLENTY = 1 << 40


def export(daemon: Daemon, run_id: str, **options: bool) -> bytes:
    assert daemon.channel is not None
    request = pb.ExportRunRequest(run_id=run_id, **options)
    stub = TrainerStub(daemon.channel)
    return b"".join(chunk.data for chunk in stub.ExportRun(request, metadata=daemon.metadata))


def take_in(daemon: Daemon, data: bytes) -> pb.Run:
    assert daemon.channel is not None
    half = len(data) // 2
    chunks = (pb.FileChunk(name="run.zip", data=part) for part in (data[:half], data[half:]))
    return TrainerStub(daemon.channel).ImportRun(chunks, metadata=daemon.metadata)


def finished_run(daemon: Daemon) -> str:
    run_id = daemon.submit(steps=300, rate=5000.0)
    daemon.wait_for(run_id, "TERMINATED")
    files = daemon.paths.run(run_id)
    (files.checkpoints / "step-10.ckpt").mkdir(parents=True)
    (files.checkpoints / "step-10.ckpt" / "state.json").write_text("{}")
    (files.root / "tensorboard").mkdir()
    (files.root / "tensorboard" / "events.out").write_bytes(b"event" * 1000)
    (files.root / "outside").symlink_to("/etc/passwd")
    return run_id


def files_naming(daemon: Daemon, run_id: str) -> list[Path]:
    return [path for path in daemon.paths.root.rglob("*") if run_id in str(path)]


def test_a_run_comes_back_point_for_point(daemon: Daemon) -> None:
    run_id = finished_run(daemon)
    before, details = daemon.series(run_id, TAG), daemon.details(run_id)
    data = export(daemon, run_id, with_checkpoints=True)
    names = zipfile.ZipFile(io.BytesIO(data)).namelist()
    assert {"mosaic-run.json", "config.json", "metrics.csv", "metrics.parquet"} <= set(names)
    assert "files/tensorboard/events.out" in names
    assert "files/checkpoints/step-10.ckpt/state.json" in names
    assert not any("outside" in name for name in names), "a link leads elsewhere"
    assert not any("checkpoints" in name for name in _names(export(daemon, run_id)))

    with pytest.raises(grpc.RpcError, match="is here already"):
        take_in(daemon, data)
    daemon.call("DeleteRun", pb.DeleteRunRequest(run_id=run_id, purge=True))
    assert files_naming(daemon, run_id) == [], "a purge leaves no file"

    imported = take_in(daemon, data)
    assert imported.run_id == run_id
    assert (imported.state, imported.outcome) == ("TERMINATED", "succeeded")
    assert daemon.series(run_id, TAG) == before
    again = daemon.details(run_id)
    assert list(again.event_lines) == list(details.event_lines)
    assert again.manifest_json == details.manifest_json
    assert json.loads(again.config_json)["metadata"] == json.loads(details.config_json)["metadata"]
    files = daemon.paths.run(run_id)
    assert (files.checkpoints / "step-10.ckpt" / "state.json").read_text() == "{}"
    assert list(daemon.paths.imports.iterdir()) == []
    assert daemon.paths.run_config(run_id).is_file()
    assert _names(export(daemon, run_id, with_checkpoints=True)) == names


def _names(data: bytes) -> list[str]:
    return zipfile.ZipFile(io.BytesIO(data)).namelist()


def test_an_archived_run_is_hidden_and_keeps_everything(daemon: Daemon) -> None:
    run_id = finished_run(daemon)
    before = sorted(files_naming(daemon, run_id))
    assert daemon.call("ArchiveRun", pb.ArchiveRunRequest(run_id=run_id)).is_archived
    assert sorted(files_naming(daemon, run_id)) == before
    assert not daemon.call("ListRuns", pb.ListRunsRequest()).runs
    assert daemon.call("ListRuns", pb.ListRunsRequest(with_archived=True)).runs
    assert len(daemon.series(run_id, TAG).mean) > 0
    daemon.call("ArchiveRun", pb.ArchiveRunRequest(run_id=run_id, undo=True))
    assert daemon.call("ListRuns", pb.ListRunsRequest()).runs


def test_an_unfinished_run_is_neither_exported_nor_archived(daemon: Daemon) -> None:
    run_id = daemon.submit(steps=100_000)
    with pytest.raises(grpc.RpcError, match="has not ended"):
        export(daemon, run_id)
    with pytest.raises(grpc.RpcError, match="has not ended"):
        daemon.call("ArchiveRun", pb.ArchiveRunRequest(run_id=run_id))
    daemon.call("CancelRun", pb.RunRequest(run_id=run_id))
    daemon.wait_for(run_id, "TERMINATED")


def test_a_refused_archive_leaves_nothing(daemon: Daemon) -> None:
    run_id = finished_run(daemon)
    good = export(daemon, run_id)
    daemon.call("DeleteRun", pb.DeleteRunRequest(run_id=run_id, purge=True))
    lines = _entry(good, "metrics.csv").replace(b",1\n", b",x\n", 1)
    for bad in (_changed(good, "metrics.csv", lines), good[: len(good) // 2], b"", b"PK" * 100):
        with pytest.raises(grpc.RpcError) as refused:
            take_in(daemon, bad)
        assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert files_naming(daemon, run_id) == []
    assert take_in(daemon, good).run_id == run_id


def test_an_archive_with_bytes_changed_at_random_is_one_line(
    tmp_path: Path, header: dict[str, Any]
) -> None:
    points = "".join(f"{TAG},{step},1.5,1.0,2.0,1\n" for step in range(200))
    entries = {
        "metrics.csv": f"tag,step,value,minimum,maximum,count\n{points}".encode(),
        "events.jsonl": b'{"event": "heartbeat"}\n' * 50,
        "telemetry.jsonl": b'{"type": "step"}\n' * 50,
        "files/logs/cleanrl.stdout.log": b"step 100 of 1000\n" * 100,
    }
    good = make(tmp_path / "a.zip", header, entries).read_bytes()
    chance = random.Random(1)
    refused = 0
    for number in range(400):
        data = bytearray(good)
        for _ in range(chance.choice((1, 1, 3))):
            data[chance.randrange(len(data))] = chance.randrange(256)
        (tmp_path / "a.zip").write_bytes(data)
        refused += _is_refused(tmp_path / "a.zip", tmp_path / str(number))
    assert refused > 300


def _is_refused(path: Path, target: Path) -> bool:
    """Read all of an archive; whatever is wrong with it is an error of ours."""
    try:
        with contextlib.closing(RunArchive(path, free_bytes=PLENTY)) as archive:
            archive.event_lines()
            list(archive.points())
            list(archive.telemetry())
            archive.unpack_files(target)
    except MosaicError:
        return True
    return False


def _entry(data: bytes, name: str) -> bytes:
    return zipfile.ZipFile(io.BytesIO(data)).read(name)


def _changed(data: bytes, name: str, content: bytes) -> bytes:
    source, target = zipfile.ZipFile(io.BytesIO(data)), io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for each in source.namelist():
            archive.writestr(each, content if each == name else source.read(each))
    return target.getvalue()


# Names that reach outside the run, by whatever way a reader may take them.
HOSTILE_NAMES = [
    "../evil",
    "files/../../evil",
    "files/a/../../../evil",
    "/etc/cron.d/evil",
    "files//etc/evil",
    "//host/evil",
    "C:\\evil",
    "C:/evil",
    "files/C:/evil",
    "files\\..\\evil",
    "files/a\\..\\..\\evil",
    "files/./evil",
    "files/evil\n",
    "files/\x1b[31mevil",
    "evil",
    "files",
    "metrics.csv/../evil",
    "files/" + "a" * 2000,
]


@pytest.fixture
def header() -> dict[str, Any]:
    run = {
        "run_id": "RUN", "name": "n", "state": "TERMINATED", "outcome": "succeeded", "reason": "",
        "algo": "ppo", "env_id": "E", "seed": 1, "worker_id": "w", "worker": "cleanrl",
        "mode": "train", "step": 1, "total_timesteps": 1, "created_at": 1.0, "started_at": None,
        "ended_at": 2.0, "exit_code": 0, "signal": None, "parent_run_id": None,
        "last_return": None, "steps_per_second": None, "paused_s": 0.0, "garbage_lines": 0,
        "last_lines": [],
    }  # fmt: skip
    return {
        "format": "mosaic-run", "version": 1, "mosaic_version": "0.1.0", "exported_at": 1.0,
        "with_checkpoints": False, "run": run,
    }  # fmt: skip


def make(path: Path, header: dict[str, Any], entries: dict[Any, bytes]) -> Path:
    documents = {"mosaic-run.json": json.dumps(header).encode(), "config.json": b"{}"}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in {**documents, **entries}.items():
            archive.writestr(name, data)
    return path


def refusal(path: Path, free_bytes: int = PLENTY) -> str:
    with pytest.raises(MosaicError) as refused:
        RunArchive(path, free_bytes=free_bytes)
    line = refused.value.one_line()
    assert "\n" not in line
    return line


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_a_name_that_leads_elsewhere_is_refused(
    tmp_path: Path, header: dict[str, Any], name: str
) -> None:
    assert "no file of a run" in refusal(make(tmp_path / "a.zip", header, {name: b"x"}))


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR, stat.S_IFSOCK])
def test_links_and_devices_are_refused(tmp_path: Path, header: dict[str, Any], kind: int) -> None:
    info = zipfile.ZipInfo("files/link")
    info.external_attr = (kind | 0o777) << 16
    archive = make(tmp_path / "a.zip", header, {info: b"/etc/passwd"})
    assert "a link or a device" in refusal(archive)


def test_bombs_are_refused(
    tmp_path: Path, header: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    bomb = make(tmp_path / "a.zip", header, {"files/bomb": b"\0" * (32 << 20)})
    assert "are free" in refusal(bomb, free_bytes=1 << 20)
    monkeypatch.setattr(reading, "ALWAYS_BYTES", 1 << 20)
    assert "that is no run" in refusal(bomb)
    monkeypatch.setattr(reading, "MOST_ENTRIES", 2)
    assert "entries" in refusal(bomb)


def test_entries_that_share_their_bytes_are_refused(tmp_path: Path, header: dict[str, Any]) -> None:
    path = make(tmp_path / "a.zip", header, {"files/a": b"x" * 1000, "files/b": b"x" * 1000})
    data = bytearray(path.read_bytes())
    first, second = _central(data, b"files/a"), _central(data, b"files/b")
    data[second + 42 : second + 46] = data[first + 42 : first + 46]  # the offset of its header
    path.write_bytes(data)
    assert "overlaps" in refusal(path)


def _central(data: bytearray, name: bytes) -> int:
    """Return where the entry of the directory at the end begins."""
    return data.rindex(name) - 46


def test_two_entries_of_one_name_are_refused(tmp_path: Path, header: dict[str, Any]) -> None:
    assert "twice" in refusal(make(tmp_path / "a.zip", header, {"files/a": b"", "files/A": b""}))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"run_id": "../x"}, "run.run_id"),
        ({"state": "EXECUTING"}, "run.state"),
        ({"step": "1"}, "run.step"),
        ({"more": 1}, "run.more is unknown"),
        ({"created_at": float("nan")}, "run.created_at"),
    ],
)
def test_a_header_is_checked(
    tmp_path: Path, header: dict[str, Any], change: dict[str, Any], words: str
) -> None:
    header["run"] |= change
    assert words in refusal(make(tmp_path / "a.zip", header, {}))


def test_a_newer_archive_says_so(tmp_path: Path, header: dict[str, Any]) -> None:
    assert "update it" in refusal(make(tmp_path / "a.zip", header | {"version": 2}, {}))


def test_steps_and_episodes_come_back(daemon: Daemon) -> None:
    run_id = daemon.submit("Walk-v0", steps=3_000, rate=20_000.0)
    daemon.wait_for(run_id, "TERMINATED")
    before = _telemetry(daemon, run_id)
    assert len(before) == 3_000 + 300
    data = export(daemon, run_id)
    daemon.call("DeleteRun", pb.DeleteRunRequest(run_id=run_id, purge=True))
    take_in(daemon, data)
    assert _telemetry(daemon, run_id) == before


def _telemetry(daemon: Daemon, run_id: str) -> list[str]:
    info = json.loads(daemon.paths.daemon_info.read_text())
    token = read_token(daemon.paths.daemon_token)
    assert token is not None
    with Client(f"127.0.0.1:{info['port']}", token) as client:
        feeds = [client.steps(run_id), client.episodes(run_id)]
        return [line for feed in feeds for update in feed for line in update.lines]
