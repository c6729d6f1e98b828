"""Readers beside a writer at full speed: no frame is torn, and none comes twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fastlane.pictures import first_line, started


def hammer(run_id: str, frames: int, *widths: int) -> None:
    with started("reading_process", run_id) as one, started("reading_process", run_id) as other:
        assert first_line(one) == first_line(other) == "looking"
        with started("writing_process", run_id, frames, *widths) as writer:
            assert writer.wait() == 0
        for reader in (one, other):
            seen, torn, doubled, last = map(int, reader.communicate()[0].split())
            assert (torn, doubled) == (0, 0)
            assert frames / 500 < seen <= last <= frames


def test_no_frame_of_fifty_thousand_is_torn(lanes_parent: Path) -> None:
    hammer("hammer", 50_000)


def test_no_frame_is_torn_while_the_size_changes(lanes_parent: Path) -> None:
    # Each larger one takes a new file, and each much smaller one.
    hammer("sizes", 2_000, 80, 160, 320, 40)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_no_frame_of_a_million_is_torn(lanes_parent: Path) -> None:
    hammer("million", 1_000_000)
