"""The archive of a replay buffer: every row is compressed and written once, while training runs.

Threads. The training thread owns the ring arrays and calls every method here; rows below the total
that it gave to `advance` are final. The archive's thread only reads, and only complete segments.
Neither waits for the other while rows are appended, and neither has to: a row that is overwritten
before it was saved has left the ring for good, so no later checkpoint asks for it. What a segment
holds in its place is never read again, and a segment of such rows only is not written at all. A
snapshot is taken in the training thread and waits for the writer: of each segment that it lists,
every row that the ring still holds was there unchanged when it was read.

A failed write (a full disk) is raised by the next `advance` or `snapshot`, and tried once more
after that: training may go on, and the next checkpoint succeeds if there is room again.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from cleanrl_worker.replay.restoring import fill, take_over
from cleanrl_worker.replay.ring import Array, Ring, rows_per_segment
from cleanrl_worker.replay.segments import ASIDE_PREFIX, ASIDE_SUFFIX, write_rows
from cleanrl_worker.replay.snapshots import TAIL_FILE, RowFile, Snapshot, parse_snapshot
from mosaic.contracts.errors import StorageError
from mosaic.contracts.files import make_directory

# Half of what is allowed: the open tail, which a checkpoint waits for, is at most this.
SEGMENT_BYTES = 32_000_000


class ReplayArchive:
    """Writes a ring into `directory`; used by the training thread alone."""

    def __init__(
        self,
        directory: Path,
        columns: Mapping[str, Array],
        *,
        segment_bytes: int = SEGMENT_BYTES,
    ) -> None:
        self._ring = Ring(columns)
        self._segment_rows = rows_per_segment(self._ring, segment_bytes)
        self._directory = directory
        make_directory(directory, what="Replay directory")
        self._total = 0
        self._next_complete = self._segment_rows  # the total that completes the open segment
        # Everything below is shared with the writing thread, under this lock.
        self._changed = threading.Condition()
        self._complete = 0  # rows that the training thread will not change any more
        self._segments: list[RowFile] = []
        self._listed: set[str] = set()  # segments that some checkpoint may need
        self._written = 0  # the first row that is in no segment
        self._failure: OSError | None = None
        self._closing = False
        self._ended = False
        self._thread = threading.Thread(target=self._write_segments, name="replay", daemon=True)
        self._thread.start()

    def resume(self, source: Path, checkpoint_dir: Path, snapshot: object) -> int:
        """Fill the ring from a checkpoint, go on after its rows, and return their total.

        Its segments, in `source`, are linked into this directory or, across devices, copied. Where
        `source` is this directory, call `collect` next with the snapshots of all its checkpoints.
        """
        assert self._total == 0, "only a new archive resumes"
        parsed = parse_snapshot(snapshot)
        parsed.check_fits(self._ring)
        fill(self._ring, source, checkpoint_dir, parsed)
        try:
            take_over(parsed.segments, source, self._directory)
        except OSError as error:
            raise self._storage_error(error) from error
        with self._changed:
            self._segments = list(parsed.segments)
            self._listed = {segment.file for segment in parsed.segments}
            self._written = self._complete = self._segments[-1].stop if self._segments else 0
        self._total = parsed.total
        self._hand_over()
        return self._total

    def advance(self, total: int) -> None:
        """Say that the ring now holds `total` rows; a comparison, but where a segment completes."""
        self._total = total
        if total >= self._next_complete or self._failure is not None:
            self._hand_over()

    def snapshot(self, checkpoint_dir: Path) -> dict[str, Any]:
        """Write the open tail into the checkpoint; return what `restore` needs, as JSON."""
        self._hand_over()
        self._wait_for_writer()
        tail = self._write_tail(checkpoint_dir) if self._written < self._total else None
        segments = self._live_segments()
        with self._changed:
            self._listed.update(segment.file for segment in segments)
        return Snapshot(
            capacity=self._ring.capacity,
            total=self._total,
            columns=self._ring.columns,
            segments=segments,
            tail=tail,
        ).as_json()

    def collect(self, kept_snapshots: Iterable[object]) -> None:
        """Delete segments that neither a kept snapshot nor the ring needs, and torn writes."""
        listed = {s.file for kept in kept_snapshots for s in parse_snapshot(kept).segments}
        # Only the training thread gives the writer work: once it rests, the directory is ours.
        with self._changed:
            self._changed.wait_for(lambda: self._is_resting() or self._ended)
            self._listed = listed
        needed = listed | {segment.file for segment in self._live_segments()}
        try:
            for pattern in ("rows-*.zst", f"{ASIDE_PREFIX}*{ASIDE_SUFFIX}"):
                for path in self._directory.glob(pattern):
                    if path.name not in needed:
                        path.unlink(missing_ok=True)
        except OSError as error:
            raise self._storage_error(error) from error

    def close(self) -> None:
        """End the writing thread, after the segment that it is at."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join()

    def __enter__(self) -> ReplayArchive:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _hand_over(self) -> None:
        """Give complete segments to the writer, and hear of its failure."""
        with self._changed:
            self._complete = self._total
            open_rows = (self._total - self._written) % self._segment_rows
            self._next_complete = self._total - open_rows + self._segment_rows
            self._changed.notify_all()
            self._raise_failure()

    def _wait_for_writer(self) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._is_resting() or self._ended)
            self._raise_failure()
            if not self._is_resting():
                raise StorageError("The replay archive is closed, or its thread has ended.")

    def _raise_failure(self) -> None:
        failure, self._failure = self._failure, None
        if failure is not None:
            self._changed.notify_all()  # to try again
            raise self._storage_error(failure) from failure

    def _write_tail(self, checkpoint_dir: Path) -> RowFile:
        try:
            return write_rows(
                checkpoint_dir, self._ring, self._written, self._total, name=TAIL_FILE
            )
        except OSError as error:
            raise self._storage_error(error) from error

    def _live_segments(self) -> tuple[RowFile, ...]:
        live_from = self._ring.live_from(self._total)
        with self._changed:
            return tuple(segment for segment in self._segments if segment.stop > live_from)

    def _storage_error(self, error: OSError) -> StorageError:
        return StorageError(
            f"Replay rows cannot be written in {str(self._directory)!r}: {error.strerror}.",
            hint="Free disk space, use a smaller buffer_size, or set checkpoint_replay to none.",
        )

    def _is_resting(self) -> bool:
        return self._failure is not None or self._complete - self._written < self._segment_rows

    def _write_segments(self) -> None:
        """Write one complete segment after the other: the writing thread."""
        try:
            while (start := self._next_start()) is not None:
                self._write_segment(start, start + self._segment_rows)
        finally:
            # Also when a defect ends the thread: nobody may wait for it then.
            with self._changed:
                self._ended = True
                self._changed.notify_all()

    def _next_start(self) -> int | None:
        with self._changed:
            self._changed.wait_for(lambda: self._closing or not self._is_resting())
            overwritten = max(0, self._ring.live_from(self._complete) - self._written)
            self._written += overwritten - overwritten % self._segment_rows
            return None if self._closing else self._written

    def _write_segment(self, start: int, stop: int) -> None:
        try:
            segment = write_rows(self._directory, self._ring, start, stop)
            with self._changed:
                self._segments.append(segment)
                self._written = stop
                self._changed.notify_all()
            self._drop_overwritten()
        except OSError as error:
            with self._changed:
                self._failure = error
                self._changed.notify_all()

    def _drop_overwritten(self) -> None:
        """Delete segments whose rows all left the ring before any checkpoint listed them."""
        with self._changed:
            live_from = self._ring.live_from(self._complete)
            gone = [s.file for s in self._segments if s.stop <= live_from]
            self._segments = [s for s in self._segments if s.stop > live_from]
            unlisted = [file for file in gone if file not in self._listed]
        for file in unlisted:
            (self._directory / file).unlink(missing_ok=True)
