"""Logs: their end at once, and what is written from then on."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mosaic.trainer.logs import CUT_MARK, LINE_LIMIT_BYTES, follow, tail


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "a.log"


@pytest.mark.parametrize(
    ("text", "lines", "expected"),
    [
        ("", 5, ""),
        ("a\n", 5, "a\n"),
        ("a\nb\nc\n", 2, "b\nc\n"),
        ("a\nb\nc\n", 3, "a\nb\nc\n"),
        ("a\nb\npart", 2, "b\npart"),
        ("a\n\n\n", 2, "\n\n"),
        ("a\n\n", 1, "\n"),
        ("a\n", 0, ""),
    ],
)
def test_the_last_lines(log: Path, text: str, lines: int, expected: str) -> None:
    log.write_text(text)
    assert tail(log, lines) == (expected.encode(), len(text))


def test_lines_beyond_a_block(log: Path) -> None:
    numbers = [f"{i:07}\n" for i in range(100_000)]
    log.write_text("".join(numbers))
    for lines in (1, 8191, 8192, 8193, 50_000):
        assert tail(log, lines)[0] == "".join(numbers[-lines:]).encode()


def test_a_log_of_a_gigabyte_tails_at_once(log: Path) -> None:
    with log.open("wb") as file:
        file.truncate(1 << 30)
        file.seek(0, 2)
        file.write(b"\n" + b"".join(b"line %d\n" % i for i in range(1000)))
    started = time.perf_counter()
    data, end = tail(log, 100)
    assert time.perf_counter() - started < 0.1
    assert data.splitlines()[0] == b"line 900"
    assert end == log.stat().st_size


def test_a_line_of_a_gigabyte_is_cut(log: Path) -> None:
    with log.open("wb") as file:
        file.truncate(1 << 30)
    started = time.perf_counter()
    data, _ = tail(log, 100)
    assert time.perf_counter() - started < 1
    assert len(data) == LINE_LIMIT_BYTES + len(CUT_MARK)


def test_a_log_that_is_not_there(log: Path) -> None:
    assert tail(log, 10) == (b"", 0)


def test_what_is_returned_has_an_upper_limit(log: Path) -> None:
    log.write_bytes((b"x" * 99 + b"\n") * 200_000)
    data, _ = tail(log, 10**9)
    assert 7 << 20 < len(data) <= 8 << 20
    assert len(data) % 100 == 0  # whole lines


async def collect(chunks: AsyncIterator[bytes]) -> bytes:
    return b"".join([chunk async for chunk in chunks])


class Run:
    """A run that a test ends."""

    has_ended = False


async def test_following_a_log_to_its_end(log: Path) -> None:
    run = Run()
    following = asyncio.create_task(collect(follow(log, 0, until=lambda: run.has_ended)))
    for text in ("a\n", "b", "\nc\n", "the last without an end"):
        with log.open("a") as file:
            file.write(text)
        await asyncio.sleep(0.12)
    run.has_ended = True
    assert await following == b"a\nb\nc\nthe last without an end"


async def test_lines_come_whole(log: Path) -> None:
    log.write_text("a\nbe")
    chunks = follow(log, 0)
    assert await anext(chunks) == b"a\n"
    with log.open("a") as file:
        file.write("gin\n")
    assert await anext(chunks) == b"begin\n"


async def test_a_log_that_was_rotated_is_read_from_its_beginning(log: Path) -> None:
    log.write_text("old 1\nold 2\n")
    chunks = follow(log, 0)
    assert await anext(chunks) == b"old 1\nold 2\n"
    log.rename(log.with_suffix(".1"))
    waiting = asyncio.ensure_future(anext(chunks))
    await asyncio.sleep(0.15)
    log.write_text("new, and longer than the old one\n")
    assert await waiting == b"new, and longer than the old one\n"
    log.write_text("cut\n")
    assert await anext(chunks) == b"cut\n"


async def test_a_long_line_is_cut_and_the_next_one_is_whole(log: Path) -> None:
    log.write_bytes(b"x" * 5_000_000 + b"\nnext\n" + b"y" * 3_000_000)
    told = await collect(follow(log, 0, until=lambda: True))
    cut = b"%s" + CUT_MARK
    expected = cut % (b"x" * LINE_LIMIT_BYTES) + b"\nnext\n" + cut % (b"y" * LINE_LIMIT_BYTES)
    assert told == expected
