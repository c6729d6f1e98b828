"""Replay archives under kill -9, on a full disk, and closed."""

from __future__ import annotations

import contextlib
import hashlib
import random
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import zstandard

from cleanrl_worker.replay import ReplayArchive, Ring
from mosaic.contracts.errors import StorageError
from tests.cleanrl_worker import replay_buffer
from tests.cleanrl_worker.replay_buffer import (
    Buffer,
    checkpoint_at,
    checkpoints,
    make_checkpoint,
    read_snapshot,
    restored,
    segment_files,
)


class TestKills:
    def test_kill_9_leaves_whole_segments_and_whole_checkpoints(self, tmp_path: Path) -> None:
        moments = random.Random(3)
        reached = [0]
        for _ in range(8):
            child = subprocess.Popen(
                [sys.executable, replay_buffer.__file__, str(tmp_path)], stdout=subprocess.PIPE
            )
            assert child.stdout is not None
            with child.stdout:
                assert child.stdout.readline() == b"ready\n"
                time.sleep(moments.uniform(0.0, 0.15))
                child.kill()
                child.wait()
            self.check_segments(tmp_path / "replay")
            reached.append(self.check_checkpoints(tmp_path))
        assert reached == sorted(reached)
        assert reached[-1] > 130

    def check_segments(self, directory: Path) -> None:
        for path in directory.glob("rows-*"):
            _, start, stop, digest = path.stem.split("-")
            data = path.read_bytes()
            assert hashlib.sha256(data).hexdigest().startswith(digest)
            row_bytes = Ring(Buffer(1).columns).row_bytes
            assert zstandard.frame_content_size(data) == (int(stop) - int(start)) * row_bytes

    def check_checkpoints(self, root: Path) -> int:
        total = 0
        for checkpoint in checkpoints(root):
            copy = restored(root, checkpoint, read_snapshot(checkpoint), 400)
            assert copy.holds(copy.total)
            total = copy.total
        return total


@contextlib.contextmanager
def no_room() -> Iterator[None]:
    """Let no file grow past 1000 bytes: to the writer it is a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


class TestFullDisk:
    def test_the_trainer_hears_of_it_and_the_checkpoint_before_stays(self, tmp_path: Path) -> None:
        buffer = Buffer(4000)
        before, after = (make_checkpoint(tmp_path, name) for name in ("before", "after"))
        with ReplayArchive(tmp_path / "replay", buffer.columns) as archive:
            snapshot = checkpoint_at(700, buffer, archive, before)
            with no_room(), pytest.raises(StorageError) as full:
                # By the snapshot at the latest: all rows may come before the writer has its turn.
                checkpoint_at(8000, buffer, archive, after)
            assert full.value.one_line().startswith(
                f"Replay rows cannot be written in '{tmp_path}/replay': File too large. Free disk"
            )
            assert segment_files(tmp_path) >= {s["file"] for s in snapshot["segments"]}
            assert restored(tmp_path, before, snapshot, 4000).holds(700)

            # Somebody made room: the same archive goes on, and has lost nothing.
            later = checkpoint_at(9000, buffer, archive, after)
        assert restored(tmp_path, after, later, 4000).holds(9000)

    def test_a_tail_without_room_leaves_nothing_behind(self, tmp_path: Path) -> None:
        buffer = Buffer(4000)
        checkpoint = make_checkpoint(tmp_path, "ckpt")
        with ReplayArchive(tmp_path / "replay", buffer.columns) as archive:
            buffer.feed(archive, 300)
            with no_room(), pytest.raises(StorageError, match="File too large"):
                archive.snapshot(checkpoint)
            assert list(checkpoint.iterdir()) == []
            assert archive.snapshot(checkpoint)["total"] == 300


class TestClose:
    def test_the_writing_thread_ends(self, tmp_path: Path) -> None:
        archive = ReplayArchive(tmp_path / "replay", Buffer(80).columns)
        assert "replay" in {thread.name for thread in threading.enumerate()}
        archive.close()
        archive.close()
        assert "replay" not in {thread.name for thread in threading.enumerate()}

    def test_nobody_waits_for_a_closed_archive(self, tmp_path: Path) -> None:
        buffer = Buffer(80)
        archive = ReplayArchive(tmp_path / "replay", buffer.columns)
        archive.close()
        buffer.feed(archive, 200)
        with pytest.raises(StorageError, match="is closed"):
            archive.snapshot(tmp_path)
