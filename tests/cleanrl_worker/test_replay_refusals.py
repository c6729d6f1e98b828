"""Checkpoints of replay rows that are damaged or hostile: refused by name, memory bounded."""

from __future__ import annotations

import hashlib
import os
import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard

from cleanrl_worker.replay import ReplayArchive, Ring
from cleanrl_worker.replay.snapshots import segment_file
from mosaic.contracts.errors import ConfigError
from tests.cleanrl_worker.replay_buffer import Buffer, restored


class Saved:
    """A checkpoint of a ring that wrapped, to be damaged."""

    def __init__(self, root: Path) -> None:
        self.root = root
        buffer = Buffer(80)
        with ReplayArchive(root / "replay", buffer.columns) as archive:
            buffer.feed(archive, 93)
            self.snapshot: dict[str, Any] = archive.snapshot(root)

    @property
    def first(self) -> dict[str, Any]:
        segment: dict[str, Any] = self.snapshot["segments"][0]
        return segment

    def path(self) -> Path:
        return self.root / "replay" / self.first["file"]

    def replace(self, data: bytes) -> None:
        """Put other bytes in the place of the first segment, with a checksum that fits them."""
        sha256 = hashlib.sha256(data).hexdigest()
        file = segment_file(self.first["start"], self.first["stop"], sha256)
        self.first.update(file=file, sha256=sha256, size_bytes=len(data))
        self.path().write_bytes(data)

    def refusal(self) -> str:
        with pytest.raises(ConfigError) as refused:
            restored(self.root, self.root, self.snapshot, 80)
        line = refused.value.one_line()
        assert "\n" not in line
        return line


@pytest.fixture
def saved(tmp_path: Path) -> Saved:
    return Saved(tmp_path)


class TestDamagedFiles:
    def test_a_truncated_segment(self, saved: Saved) -> None:
        size = saved.first["size_bytes"]
        os.truncate(saved.path(), size - 1)
        assert f"{saved.path()}' is damaged: it has {size - 1} bytes, not {size}" in saved.refusal()

    def test_a_flipped_bit(self, saved: Saved) -> None:
        data = bytearray(saved.path().read_bytes())
        data[-5] ^= 1
        saved.path().write_bytes(data)
        assert f"{saved.path()}' is damaged: its SHA-256 is " in saved.refusal()

    def test_a_damaged_tail(self, saved: Saved) -> None:
        (saved.root / "replay-tail.zst").write_bytes(b"")
        assert "replay-tail.zst' is damaged: it has 0 bytes" in saved.refusal()

    def test_a_missing_segment(self, saved: Saved) -> None:
        saved.path().unlink()
        assert f"{saved.path()}' is damaged: it is missing." in saved.refusal()
        assert "checkpoint_replay=latest" in saved.refusal()

    def test_a_link(self, saved: Saved) -> None:
        saved.path().rename(saved.root / "elsewhere")
        saved.path().symlink_to(saved.root / "elsewhere")
        assert "it is a link." in saved.refusal()

    def test_a_pipe_is_not_waited_for(self, saved: Saved) -> None:
        saved.path().unlink()
        os.mkfifo(saved.path())
        assert "it is not a regular file." in saved.refusal()

    def test_a_directory(self, saved: Saved) -> None:
        saved.path().unlink()
        saved.path().mkdir()
        assert str(saved.path()) in saved.refusal()


RLE_BLOCK_BYTES = 1 << 17


def bomb(claimed_bytes: int, real_bytes: int, window_log: int = 21) -> bytes:
    """Return a frame of RFC 8878 that claims a size, and unpacks four bytes into 128 KiB each."""
    content_size_of_8_bytes = 0b1100_0000
    header = [0xFD2FB528.to_bytes(4, "little"), bytes([content_size_of_8_bytes])]
    sizes = [bytes([(window_log - 10) << 3]), claimed_bytes.to_bytes(8, "little")]
    run_length = RLE_BLOCK_BYTES << 3 | 0b010
    blocks = (run_length.to_bytes(3, "little") + b"\0") * (real_bytes // RLE_BLOCK_BYTES)
    last_empty_block = (1).to_bytes(3, "little")
    return b"".join([*header, *sizes, blocks, last_empty_block])


class TestHostileFiles:
    @pytest.fixture(autouse=True)
    def memory_is_bounded(self) -> Iterator[None]:
        before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        yield
        grown_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kib
        assert grown_kib < 64 << 10

    def row_bytes(self, saved: Saved) -> int:
        rows: int = saved.first["stop"] - saved.first["start"]
        return rows * Ring(Buffer(80).columns).row_bytes

    def test_a_claim_of_4_gb(self, saved: Saved) -> None:
        saved.replace(bomb(claimed_bytes=4 << 30, real_bytes=4 << 30))
        assert f"it claims {4 << 30} bytes of rows, not " in saved.refusal()

    def test_a_bomb_that_lies_about_its_size(self, saved: Saved) -> None:
        saved.replace(bomb(claimed_bytes=self.row_bytes(saved), real_bytes=4 << 30))
        assert f"{saved.path()}' is damaged: it " in saved.refusal()

    def test_a_frame_that_hides_its_size(self, saved: Saved) -> None:
        hidden = zstandard.ZstdCompressor(write_content_size=False)
        saved.replace(hidden.compress(bytes(self.row_bytes(saved))))
        assert "it claims -1 bytes of rows" in saved.refusal()

    def test_a_frame_that_ends_too_early(self, saved: Saved) -> None:
        whole = zstandard.ZstdCompressor().compress(os.urandom(self.row_bytes(saved)))
        saved.replace(whole[: len(whole) // 2])
        assert "it ends too early." in saved.refusal()

    def test_a_window_of_a_gigabyte(self, saved: Saved) -> None:
        saved.replace(bomb(self.row_bytes(saved), RLE_BLOCK_BYTES, window_log=30))
        assert "it cannot be decompressed (zstd decompress error: Frame requires too much" in (
            saved.refusal()
        )

    @pytest.mark.parametrize(
        "data", [b"", b"\x80\x04\x95pickle", bytes(64)], ids=["empty", "pickle", "zeros"]
    )
    def test_no_zstandard_frame_at_all(self, saved: Saved, data: bytes) -> None:
        saved.replace(data)
        assert "it cannot be decompressed" in saved.refusal()


def edited(saved: Saved, key: str, value: object) -> None:
    """Set a value in the snapshot, by its dotted path."""
    *parents, last = key.split(".")
    place: Any = saved.snapshot
    for parent in parents:
        place = place[int(parent)] if parent.isdigit() else place[parent]
    place[int(last) if last.isdigit() else last] = value


class TestHostileSnapshots:
    @pytest.mark.parametrize(
        ("key", "value", "line"),
        [
            ("version", 2, "replay.version=2 is not allowed: this program reads 1. A newer"),
            ("total", -1, "total=-1 is not a count"),
            ("total", True, "total=True is no int"),
            ("total", 94, "rows 93 to 94 are in no file"),
            ("total", 2**62, "out of order"),
            ("capacity", 81, "has 81 rows, this run's 80. Resume with buffer_size=81."),
            ("segments", {}, "segments={} is no list"),
            ("segments", [], "replay-tail.zst holds rows 90 to 93 out of order"),
            ("segments.0", None, "segments[0]=None is no dict"),
            ("segments.0.file", "../../etc/passwd", "segments[0].file='../../etc/passwd' is not"),
            ("segments.0.file", "/dev/zero", "segments[0].file='/dev/zero' is not the name"),
            ("segments.0.sha256", "x" * 64, "is not 64 hexadecimal digits"),
            ("segments.1.start", 60, "segments[1] ends at row 30, before it begins at 60"),
            ("tail.file", "../replay-tail.zst", "tail.file='../replay-tail.zst' is not"),
            ("tail.stop", 10**9, "out of order"),
            ("tail.extra", 1, "tail has the keys"),
            ("columns.frames.dtype", "|O", "'frames' is |O[6, 6] in the checkpoint, |u1[6, 6] in"),
            ("columns.frames.shape", [7, 6], "'frames' is |u1[7, 6] in the checkpoint, |u1[6, 6]"),
            (
                "columns.more",
                {"dtype": "<f4", "shape": []},
                "'more' is <f4[] in the checkpoint, ab",
            ),
        ],
    )
    def test_each_fault_is_one_clear_line(
        self, saved: Saved, key: str, value: object, line: str
    ) -> None:
        edited(saved, key, value)
        assert line in saved.refusal()

    @pytest.mark.parametrize("snapshot", [None, [], "text", {}, {"version": 1}])
    def test_a_document_that_is_no_snapshot(self, saved: Saved, snapshot: Any) -> None:
        saved.snapshot = snapshot
        assert "list of replay rows is damaged" in saved.refusal()
