"""A replay buffer whose every row follows from its number.

As a program, `python replay_buffer.py DIRECTORY`, it goes on from the last checkpoint there, saving
as it fills, until it is killed.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np

from cleanrl_worker.replay import ReplayArchive, restore


class Buffer:
    """A ring of small frames, noise that does not compress, numbers and flags."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.total = 0
        self.columns: dict[str, np.ndarray[Any, Any]] = {
            "frames": np.zeros((capacity, 6, 6), np.uint8),
            "noise": np.zeros((capacity, 4), np.float32),
            "actions": np.zeros(capacity, np.int64),
            "ends": np.zeros((capacity, 2), np.bool_),
        }

    def append(self, rows: int = 1) -> int:
        for row in range(self.total, self.total + rows):
            index = row % self.capacity
            self.columns["frames"][index] = row % 251
            self.columns["frames"][index, row % 6] = 255
            self.columns["noise"][index] = np.sin(np.arange(4) * 1e4 + row)
            self.columns["actions"][index] = row * row
            self.columns["ends"][index] = row % 7 == 0, row % 11 == 0
        self.total += rows
        return self.total

    def feed(self, archive: ReplayArchive, upto: int, rows: int = 1) -> None:
        while self.total < upto:
            archive.advance(self.append(min(rows, upto - self.total)))

    def holds(self, total: int) -> bool:
        """Tell whether the columns are those of a buffer to which `total` rows were appended."""
        expected = Buffer(self.capacity)
        expected.total = max(0, total - self.capacity)
        expected.append(total - expected.total)
        return all(
            np.array_equal(column, expected.columns[name]) for name, column in self.columns.items()
        )


def restored(root: Path, checkpoint: Path, snapshot: object, capacity: int) -> Buffer:
    buffer = Buffer(capacity)
    buffer.total = restore(root / "replay", checkpoint, snapshot, buffer.columns)
    return buffer


def make_checkpoint(root: Path, name: str) -> Path:
    checkpoint = root / name
    checkpoint.mkdir()
    return checkpoint


def checkpoint_at(
    total: int, buffer: Buffer, archive: ReplayArchive, place: Path
) -> dict[str, Any]:
    buffer.feed(archive, total)
    return archive.snapshot(place)


def segment_files(root: Path) -> set[str]:
    return {path.name for path in (root / "replay").iterdir()}


def checkpoints(root: Path) -> list[Path]:
    return sorted(root.glob("step-*.ckpt"))


def read_snapshot(checkpoint: Path) -> dict[str, Any]:
    snapshot: dict[str, Any] = json.loads((checkpoint / "replay.json").read_text())
    return snapshot


def save(archive: ReplayArchive, root: Path, total: int, keep: int = 2) -> None:
    """Write a checkpoint, whole or absent, then drop the old ones and what only they needed."""
    aside, gone = root / "aside", root / "gone"
    for leftover in (aside, gone):
        shutil.rmtree(leftover, ignore_errors=True)
    aside.mkdir()
    (aside / "replay.json").write_text(json.dumps(archive.snapshot(aside)))
    aside.rename(root / f"step-{total:09d}.ckpt")
    for checkpoint in checkpoints(root)[:-keep]:
        # A kill in the middle of rmtree would leave half a checkpoint under its name.
        checkpoint.rename(gone)
        shutil.rmtree(gone)
    archive.collect([read_snapshot(checkpoint) for checkpoint in checkpoints(root)])


def run_until_killed(root: Path) -> None:
    buffer = Buffer(400)
    with ReplayArchive(root / "replay", buffer.columns) as archive:
        if found := checkpoints(root):
            snapshot = read_snapshot(found[-1])
            buffer.total = archive.resume(root / "replay", found[-1], snapshot)
            archive.collect([read_snapshot(checkpoint) for checkpoint in found])
        print("ready", flush=True)
        while True:
            buffer.feed(archive, buffer.total + 130, rows=3)
            save(archive, root, buffer.total)


if __name__ == "__main__":
    run_until_killed(Path(sys.argv[1]))
