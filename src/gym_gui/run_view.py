"""What a run's page knows: the run as it is now, its files, its curves, and the page's address."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from nicegui import ui

from gym_gui.causes import has_ended
from gym_gui.curve_feed import CurveFeed, checkpoint_step
from gym_gui.curves import Curve
from gym_gui.live import Live
from gym_gui.run_data import EVALUATION_TAG
from gym_gui.watchdogs import Finding, look
from mosaic.client.faults import DaemonFault
from mosaic.contracts.errors import MosaicError, NotFound
from mosaic.contracts.worker_config import extract_worker_config
from mosaic.proto import trainer_pb2 as pb

# Enough to keep the page true of what nobody announces: files, the manifest, a removal.
_DETAILS_INTERVAL_S = 5.0


@dataclass(slots=True)
class RunView:
    """One run on one page. Its tabs read here, and nothing of it outlives the page."""

    live: Live
    details: pb.RunDetails
    feed: CurveFeed
    query: dict[str, str] = field(default_factory=dict)
    is_removed: bool = False
    revision: int = 0  # of the details
    _asked_at: float = 0.0
    _asked_state: tuple[str, str] = ("", "")

    @property
    def run_id(self) -> str:
        return self.details.run.run_id

    @property
    def run(self) -> pb.Run:
        """Return the newest that is known of the run."""
        told = self.live.runs.get(self.run_id)
        known = self.details.run
        return told if told is not None and told.revision >= known.revision else known

    @property
    def run_config(self) -> dict[str, Any]:
        return read_document(self.details.config_json)

    @property
    def config(self) -> dict[str, Any]:
        return extract_worker_config(self.run_config)

    @property
    def extras(self) -> Mapping[str, Any]:
        extras = self.config.get("extras")
        return extras if isinstance(extras, Mapping) else {}

    @property
    def manifest(self) -> dict[str, Any]:
        return read_document(self.details.manifest_json)

    @property
    def run_dir(self) -> Path:
        return Path(self.details.run_dir)

    @property
    def is_evaluation(self) -> bool:
        return self.run.mode == "policy_eval"

    def episodes_played(self) -> int:
        """Return how many episodes an evaluation has told of."""
        return self.feed.own_curves().get(EVALUATION_TAG, Curve()).total_count

    @property
    def has_ended(self) -> bool:
        return has_ended(self.run)

    def artifact(self, *names: str) -> Any:
        """Return a value of the manifest's artifacts; None where it has none."""
        return dig(self.manifest, "artifacts", *names)

    def findings(self) -> list[Finding]:
        """Return what is wrong with a run that goes on; of one that ended, what its curves say."""
        health = self.live.health
        free = None if self.has_ended or health is None else health.disk_free_bytes
        start = checkpoint_step(self.config) or 0
        return look(self.feed.own_curves(), first_step=start, disk_free_bytes=free)

    def remember(self, **given: str | None) -> None:
        """Put what was chosen into the address, so that it shows the same when it is opened."""
        for name, value in given.items():
            self.query.pop(name, None)
            if value:
                self.query[name] = value
        words = f"?{urlencode(self.query)}" if self.query else ""
        ui.navigate.history.replace(f"/runs/{self.run_id}{words}")

    async def keep_up(self) -> None:
        """Ask for the details where the run has moved on, and every few seconds."""
        now = asyncio.get_running_loop().time()
        state = (self.run.state, self.run.outcome)
        if state == self._asked_state and now - self._asked_at < _DETAILS_INTERVAL_S:
            return
        self._asked_state, self._asked_at = state, now
        await self.refresh()

    async def refresh(self) -> None:
        try:
            self.details = await self.live.need_client().get_run(self.run_id)
            self.is_removed = False
        except NotFound:
            self.is_removed = True
        except (MosaicError, DaemonFault):
            return  # the frame's banner says that the daemon is away
        self.revision += 1

    def close(self) -> None:
        self.feed.stop()


async def open_view(live: Live, run_id: str, query: Mapping[str, str]) -> RunView:
    """Return the view of a run, by its id or any unambiguous beginning of it."""
    details = await live.need_client().get_run(run_id)
    config = extract_worker_config(read_document(details.config_json))
    feed = CurveFeed(live, details.run, config)
    return RunView(live, details, feed, dict(query))


def read_document(text: str) -> dict[str, Any]:
    document = json.loads(text) if text else {}
    return document if isinstance(document, dict) else {}


def dig(document: Any, *names: str) -> Any:
    """Return the value under these names; None where a level is missing, or is something else."""
    for name in names:
        document = document.get(name) if isinstance(document, Mapping) else None
    return document
