"""The live picture of a run, with why there is none where there is none."""

from __future__ import annotations

from nicegui import ui

from mosaic.contracts.errors import MosaicError
from mosaic.fastlane import hud
from mosaic.fastlane.reader import LaneReader
from mosaic.fastlane.status import LaneStatus

GRID = "grid"
NO_LANE = "No live frames: the run has not opened its lane, or has ended."
_NOT_YET = "The first frame comes with the next step; a paused run takes none."
_HOW = {
    "off": "Start a run with fastlane_video_mode single or grid to see it live.",
    "no_renderer": "The environment cannot draw here; System, doctor, says what is missing.",
}


# A browser opens six connections to one host: pages in the background must not hold theirs.
_ONLY_WHEN_SEEN = """<script>
document.addEventListener('visibilitychange', () => {
  for (const image of document.querySelectorAll('img.mosaic-stream')) {
    if (document.hidden && image.getAttribute('src')) {
      image.dataset.source = image.getAttribute('src');
      image.removeAttribute('src');
    } else if (!document.hidden && image.dataset.source && !image.getAttribute('src')) {
      image.src = image.dataset.source;
    }
  }
});
</script>"""


def add_frame_script() -> None:
    """Put what all pictures of a page share into its head; once a page."""
    ui.add_head_html(_ONLY_WHEN_SEEN)


class FrameView:
    """A picture from the frames' own route; it is asked for only while there is something to see.

    The reader beside it tells the state and the figures, and counts as a viewer while it is open.
    """

    def __init__(self, run_id: str, *, lane: str = GRID, height: str = "20rem") -> None:
        self._run_id = run_id
        self._lane = lane
        self._reader = LaneReader(run_id)
        self._source = ""
        with ui.column().classes("w-full items-center gap-1"):
            with ui.element("div").classes(
                "w-full relative flex items-center justify-center rounded bg-black/10"
            ) as box:
                box.style(f"height: {height}")
                self._why = ui.label().classes("mosaic-muted text-center p-4")
                # Above the words, and unseen until the first frame is there.
                self._image = ui.element("img").classes(
                    "mosaic-stream mosaic-frame absolute inset-0 w-full h-full object-contain"
                )
                self._image.style("image-rendering: pixelated")
                self._image.props('alt="The agent, live" onload="this.style.opacity=1"')
            self._hud = ui.label().classes("mosaic-number text-xs whitespace-pre-line w-full")
            self._hud.style("min-height: 3.2rem").props("role=status")
        self.refresh()

    @property
    def lanes(self) -> int:
        """How many environments the run shows."""
        status = self._status()
        return 0 if status is None else status.notice.lanes

    def choose(self, lane: str) -> None:
        self._lane = lane
        self._source = ""
        self.refresh()

    def ask_for(self, share: float) -> None:
        """Ask the run to spend up to this share of its time on frames; 0: what it was given."""
        self._reader.wanted_budget = share

    def refresh(self) -> None:
        status = self._status()
        is_live = status is not None and status.status == "live"
        self._show(f"/frames/{self._run_id}?lane={self._lane}" if is_live else "")
        if status is None:
            self._why.set_text(NO_LANE)
            self._hud.set_text("")
            return
        frame = self._reader.read(0 if self._lane == GRID else int(self._lane))
        self._hud.set_text("\n".join(hud.lines(status, frame.metrics if frame else None)))
        why = _HOW.get(status.status, "")
        self._why.set_text(_NOT_YET if is_live else f"{hud.connection(status.notice)}. {why}")

    def close(self) -> None:
        """Stop looking, so that the run stops drawing for us."""
        self._show("")
        self._reader.close()

    def _status(self) -> LaneStatus | None:
        try:
            return self._reader.status()
        except (MosaicError, OSError):  # a lane of another version, or a half-written one
            return None

    def _show(self, source: str) -> None:
        self._image.set_visibility(bool(source))
        if source != self._source:
            self._source = source
            # An empty address ends the stream; hiding the picture would not.
            self._image.props(f'src="{source}"' if source else "", remove="" if source else "src")
