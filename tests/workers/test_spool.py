"""The spool read in whole lines, from any offset, in pieces that memory holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from mosaic.workers.proxy.spool import BATCH_BYTES, BATCH_LINES, LINE_LIMIT_BYTES, Spool


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "events.jsonl"


def read_all(spool: Spool, position: int = 0) -> bytes:
    data = b""
    while batch := spool.read(position):
        assert batch.offset == position
        assert batch.next_offset == position + len(batch.data)
        data += batch.data
        position = batch.next_offset
    return data


def test_a_spool_that_is_not_there_yet_has_nothing(path: Path) -> None:
    spool = Spool(path)
    assert spool.read(0) is None
    path.write_bytes(b"a\n")
    assert read_all(spool) == b"a\n"


def test_lines_come_once_they_are_whole(path: Path) -> None:
    spool = Spool(path)
    path.write_bytes(b"one\ntw")
    assert read_all(spool) == b"one\n"
    assert spool.read(4) is None
    with path.open("ab") as file:
        file.write(b"o\nthree")
    assert read_all(spool, 4) == b"two\n"
    assert spool.read(8) is None
    spool.close_at_end()
    assert read_all(spool, 8) == b"three"
    assert spool.end == 13


def test_reading_starts_again_at_any_line(path: Path) -> None:
    path.write_bytes(b"one\ntwo\nthree")
    spool = Spool(path)
    assert spool.read(8) is None, "it has searched this line to its end, and remembers"
    assert read_all(spool, 4) == b"two\n"
    assert read_all(spool, 0) == b"one\ntwo\n"
    assert spool.read(100) is None


def test_a_batch_is_bounded_in_bytes_and_in_lines(path: Path) -> None:
    path.write_bytes(b"x" * 99 + b"\n")
    with path.open("ab") as file:
        file.write((b"y" * 999 + b"\n") * 3_000 + b"\n" * 3 * BATCH_LINES)
    spool = Spool(path)
    position, sizes = 0, []
    while batch := spool.read(position):
        sizes.append((len(batch.data), batch.data.count(b"\n")))
        position = batch.next_offset
    assert position == path.stat().st_size
    assert all(size <= BATCH_BYTES and lines <= BATCH_LINES for size, lines in sizes)
    assert len(sizes) < 8


@pytest.mark.parametrize("length", [BATCH_BYTES, BATCH_BYTES + 1, 5 * BATCH_BYTES + 17])
def test_a_line_longer_than_a_batch_comes_whole(path: Path, length: int) -> None:
    line = b"x" * length
    spool = Spool(path)
    path.write_bytes(b"first\n" + line)
    assert read_all(spool) == b"first\n"
    assert spool.read(6) is None
    with path.open("ab") as file:
        file.write(b"\nlast\n")
    assert read_all(spool, 6) == line + b"\nlast\n"


def test_a_line_over_the_limit_is_stepped_over_with_a_note(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(LINE_LIMIT_BYTES + 5)  # zeros, and no disk
        file.seek(0, 2)
        file.write(b"\nnext\n")
    spool = Spool(path)
    batch = spool.read(0)
    assert batch is not None
    assert (batch.data, batch.next_offset) == (b"", LINE_LIMIT_BYTES + 6)
    assert batch.note.startswith(f"a line of {LINE_LIMIT_BYTES + 6} bytes was left out")
    assert read_all(spool, batch.next_offset) == b"next\n"
