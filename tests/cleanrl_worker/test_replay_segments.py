"""Replay rows in checkpoints: saved once, restored bit for bit, refused when damaged."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

from cleanrl_worker.replay import ReplayArchive, estimate_disk_mb
from mosaic.contracts.errors import ConfigError
from tests.cleanrl_worker.replay_buffer import (
    Buffer,
    checkpoint_at,
    make_checkpoint,
    restored,
    segment_files,
)


class TestRoundTrip:
    @pytest.mark.parametrize(
        ("capacity", "total", "rows"),
        [
            pytest.param(100, 0, 1, id="empty"),
            pytest.param(100, 70, 1, id="before the wrap"),
            pytest.param(100, 100, 4, id="just full"),
            pytest.param(100, 137, 1, id="after the wrap"),
            pytest.param(96, 1203, 8, id="many wraps"),
            pytest.param(100, 450, 30, id="appends longer than a segment"),
            pytest.param(1, 5, 1, id="one row"),
            pytest.param(3, 17, 3, id="every append overwrites the whole ring"),
        ],
    )
    def test_a_ring_comes_back_bit_for_bit(
        self, tmp_path: Path, capacity: int, total: int, rows: int
    ) -> None:
        buffer = Buffer(capacity)
        checkpoint = make_checkpoint(tmp_path, "ckpt")
        with ReplayArchive(tmp_path / "replay", buffer.columns, segment_bytes=1000) as archive:
            buffer.feed(archive, total, rows)
            snapshot = json.loads(json.dumps(archive.snapshot(checkpoint)))

        copy = restored(tmp_path, checkpoint, snapshot, capacity)

        assert copy.total == total
        assert copy.holds(total)

    def test_a_writer_that_lags_loses_no_row_of_the_ring(self, tmp_path: Path) -> None:
        # Each segment is synced to disk: the ring is overwritten several times meanwhile.
        buffer = Buffer(16)
        checkpoint = make_checkpoint(tmp_path, "ckpt")
        with ReplayArchive(tmp_path / "replay", buffer.columns) as archive:
            for total in range(500, 5000, 501):
                snapshot = checkpoint_at(total, buffer, archive, checkpoint)
                assert restored(tmp_path, checkpoint, snapshot, 16).holds(total)


class TestSharing:
    def test_two_checkpoints_share_segments_that_are_written_once(self, tmp_path: Path) -> None:
        buffer = Buffer(800)
        first, second = (make_checkpoint(tmp_path, name) for name in ("first", "second"))
        with ReplayArchive(tmp_path / "replay", buffer.columns) as archive:
            early = checkpoint_at(550, buffer, archive, first)
            inodes = {path.name: path.stat().st_ino for path in (tmp_path / "replay").iterdir()}
            late = checkpoint_at(790, buffer, archive, second)

        assert [s["stop"] for s in early["segments"]] == [100, 200, 300, 400, 500]
        assert late["segments"][:5] == early["segments"]
        assert len(segment_files(tmp_path)) == 7
        assert all((tmp_path / "replay" / n).stat().st_ino == i for n, i in inodes.items())
        assert [path.name for path in first.iterdir()] == ["replay-tail.zst"]
        assert (early["tail"]["start"], early["tail"]["stop"]) == (500, 550)

    def test_collect_keeps_what_a_checkpoint_or_the_ring_needs(self, tmp_path: Path) -> None:
        buffer = Buffer(800)
        kept, dropped = (make_checkpoint(tmp_path, name) for name in ("kept", "dropped"))
        with ReplayArchive(tmp_path / "replay", buffer.columns) as archive:
            forgotten = checkpoint_at(300, buffer, archive, dropped)
            snapshot = checkpoint_at(1250, buffer, archive, kept)
            buffer.feed(archive, 2350)
            (tmp_path / "replay" / ".replay-torn.tmp").write_bytes(b"of a killed writer")
            (tmp_path / "replay" / "notes.txt").write_text("of the user")

            archive.collect([snapshot])

        listed = {segment["file"] for segment in snapshot["segments"]}
        ring = {name for name in segment_files(tmp_path) - listed if name.startswith("rows-")}
        assert len(listed) == 8
        assert {int(name.split("-")[1]) for name in ring} == set(range(1500, 2300, 100))
        assert not {segment["file"] for segment in forgotten["segments"]} & (listed | ring)
        assert segment_files(tmp_path) == listed | ring | {"notes.txt"}
        assert restored(tmp_path, kept, snapshot, 800).holds(1250)

    def test_rows_that_no_checkpoint_saw_do_not_pile_up(self, tmp_path: Path) -> None:
        buffer = Buffer(80)
        with ReplayArchive(tmp_path / "replay", buffer.columns) as archive:
            buffer.feed(archive, 800)
            archive.snapshot(tmp_path)
            assert len(segment_files(tmp_path)) <= 10


class TestResume:
    def test_a_resumed_archive_goes_on_as_if_never_stopped(self, tmp_path: Path) -> None:
        parent, child = (make_checkpoint(tmp_path, name) for name in ("parent", "child"))
        cut, end = (make_checkpoint(tmp_path, name) for name in ("cut", "end"))
        buffer = Buffer(400)
        with ReplayArchive(parent / "replay", buffer.columns) as archive:
            middle = checkpoint_at(530, buffer, archive, cut)
            uninterrupted = checkpoint_at(777, buffer, archive, end)

        again = Buffer(400)
        with ReplayArchive(child / "replay", again.columns) as archive:
            again.total = archive.resume(parent / "replay", cut, middle)
            assert again.total == 530
            assert again.holds(530)
            resumed = checkpoint_at(777, again, archive, end)

        assert resumed == uninterrupted
        taken_over = child / "replay" / middle["segments"][-1]["file"]
        assert taken_over.samefile(parent / "replay" / taken_over.name)
        assert restored(child, end, resumed, 400).holds(777)

    @pytest.mark.skipif(not os.access("/dev/shm", os.W_OK), reason="needs /dev/shm")
    def test_segments_are_copied_across_devices(self, tmp_path: Path) -> None:
        buffer = Buffer(80)
        with ReplayArchive(tmp_path / "replay", buffer.columns) as archive:
            snapshot = checkpoint_at(95, buffer, archive, tmp_path)
        elsewhere = Path("/dev/shm") / f"replay-test-{os.getpid()}"
        again = Buffer(80)
        try:
            with ReplayArchive(elsewhere, again.columns) as archive:
                archive.resume(tmp_path / "replay", tmp_path, snapshot)
            copied = {path.name for path in elsewhere.iterdir()}
        finally:
            for path in elsewhere.iterdir():
                path.unlink()
            elsewhere.rmdir()
        assert copied == {segment["file"] for segment in snapshot["segments"]}

    def test_another_segment_length_is_no_obstacle(self, tmp_path: Path) -> None:
        buffer = Buffer(400)
        cut, end = (make_checkpoint(tmp_path, name) for name in ("cut", "end"))
        with ReplayArchive(tmp_path / "replay", buffer.columns) as archive:
            snapshot = checkpoint_at(449, buffer, archive, cut)
        again = Buffer(400)
        with ReplayArchive(tmp_path / "replay", again.columns, segment_bytes=700) as archive:
            again.total = archive.resume(tmp_path / "replay", cut, snapshot)
            archive.collect([snapshot])
            later = checkpoint_at(1000, again, archive, end)
        assert restored(tmp_path, end, later, 400).holds(1000)


class TestSizes:
    def test_a_row_that_fits_no_segment_is_refused(self, tmp_path: Path) -> None:
        columns = {"frames": np.zeros((2, 100), np.uint8)}
        with pytest.raises(ConfigError, match="row of 100 bytes does not fit a segment of 99"):
            ReplayArchive(tmp_path / "replay", columns, segment_bytes=99)

    def test_the_estimate_of_a_million_frames_looks_at_shapes_only(self) -> None:
        columns = {
            "frames": np.broadcast_to(np.uint8(0), (1_000_000, 84, 84)),
            "rewards": np.broadcast_to(np.float32(0), (1_000_000,)),
        }
        assert estimate_disk_mb(columns, keep=0) == 504
        assert estimate_disk_mb(columns, keep=1) == 1008
        assert estimate_disk_mb(columns, keep=2, interval_rows=100_000) == 605
