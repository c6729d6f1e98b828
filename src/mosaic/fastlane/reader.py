"""The reading end: newest frame only, and the same one never twice."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import TracebackType

from mosaic.fastlane.directory import lane_path, run_directory, run_path
from mosaic.fastlane.frame import Frame
from mosaic.fastlane.lane_file import LaneFile
from mosaic.fastlane.mapped_file import identify
from mosaic.fastlane.run_file import RunFile
from mosaic.fastlane.status import LaneStatus, Notice
from mosaic.fastlane.tiles import tile
from mosaic.fastlane.viewers import new_token

OWNER_GONE = "The process of the run is gone."


class LaneReader:
    """Looks at the lanes of one run, and counts as a viewer for as long as it reads.

    It may be there before the lanes, follows them when they are made anew or change their size, and
    keeps what it had when they are removed. Not for several threads at once.
    """

    def __init__(self, run_id: str, *, wanted_budget: float = 0.0) -> None:
        """Look at a run. `wanted_budget` raises the share of its time that frames may take."""
        self.wanted_budget = wanted_budget
        self._directory = run_directory(run_id)
        self._run: RunFile | None = None
        self._token = new_token()
        self._place: int | None = None
        self._singles: dict[int, _LaneFollower] = {}
        self._tiles: dict[int, _LaneFollower] = {}

    def __enter__(self) -> LaneReader:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop looking; the run is told at once."""
        for follower in (*self._singles.values(), *self._tiles.values()):
            follower.close()
        self._singles.clear()
        self._tiles.clear()
        self._leave()

    def read(self, lane: int = 0) -> Frame | None:
        """Return the newest frame of a lane; None where there is none that was not read before."""
        self._sign()
        return self._follow(self._singles, lane).read()

    def read_grid(self) -> Frame | None:
        """Return the newest frames of all lanes as tiles; None where none of them is new."""
        run = self._sign()
        if run is None:
            return None
        followers = [self._follow(self._tiles, lane) for lane in range(run.notice().lanes)]
        new = [frame for follower in followers if (frame := follower.read()) is not None]
        if not new:
            return None
        return tile([follower.last for follower in followers])

    def status(self) -> LaneStatus | None:
        """Return how things stand; None where the run has no lanes, or none yet."""
        run = self._sign()
        if run is None:
            return None
        notice = _tell_death(run, run.notice())
        viewers = run.viewers.info(notice.budget, notice.view_budget)
        return LaneStatus(notice, run.account(), viewers)

    def _sign(self) -> RunFile | None:
        """Find the run's file, a new one where it was made anew, and sign its table of viewers."""
        found = identify(run_path(self._directory))
        if found is not None and (self._run is None or found != self._run.identity):
            self._leave()
            self._run = RunFile.open(run_path(self._directory))
        if self._run is not None:
            self._place = self._run.viewers.sign(self._place, self._token, self.wanted_budget)
        return self._run

    def _leave(self) -> None:
        if self._run is not None:
            self._run.viewers.leave(self._place, self._token)
            self._run.close()
        self._run = self._place = None

    def _follow(self, followers: dict[int, _LaneFollower], lane: int) -> _LaneFollower:
        return followers.setdefault(lane, _LaneFollower(self._directory, lane))


class _LaneFollower:
    """One lane through all files that bear its name in turn."""

    def __init__(self, directory: Path, index: int) -> None:
        self._path = lane_path(directory, index)
        self._index = index
        self._file: LaneFile | None = None
        self._read = 0
        self.last: Frame | None = None

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def read(self) -> Frame | None:
        self._follow_name()
        if self._file is None or self._file.newest in (0, self._read):
            return None
        frame = self._file.get()
        if frame is not None:
            self._read, self.last = frame.number, frame
        return frame

    def _follow_name(self) -> None:
        """Open the file that has taken the place of this one; without one, keep what there is."""
        found = identify(self._path)
        if found is None or (self._file is not None and found == self._file.identity):
            return
        self.close()
        self._file = LaneFile.open(self._path, self._index)
        self._read = 0


def _tell_death(run: RunFile, notice: Notice) -> Notice:
    """Return the notice; of a run whose process was killed, one that says so."""
    if notice.status in ("ended", "off") or run.is_owner_alive():
        return notice
    return replace(notice, status="ended", reason=OWNER_GONE)
