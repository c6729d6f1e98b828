"""The tabs of a run's page: which there are, in which order, for which lane."""

from __future__ import annotations

from dataclasses import dataclass

from gym_gui.roster import lane_of
from gym_gui.tabs import (
    charts,
    checkpoints,
    config,
    evaluation,
    fastlane,
    files,
    logs,
    overview,
    telemetry,
    tensorboard,
    trials,
    videos,
    wandb,
)
from gym_gui.tabs.shown import Build
from mosaic.contracts.capabilities import Lane


@dataclass(frozen=True, slots=True)
class Tab:
    key: str  # in addresses
    title: str
    build: Build


_TELEMETRY = (
    Tab("live", "Live", telemetry.build_live),
    Tab("replay", "Replay", telemetry.build_replay),
)
_ANALYTICS = (
    Tab("charts", "Charts", charts.build),
    Tab("evaluation", "Evaluation", evaluation.build),
    Tab("fastlane", "FastLane", fastlane.build),
    Tab("tensorboard", "TensorBoard", tensorboard.build),
    Tab("wandb", "W&B", wandb.build),
    Tab("trials", "Trials", trials.build),
    Tab("videos", "Videos", videos.build),
)
_FIRST = (Tab("overview", "Overview", overview.build),)
_LAST = (
    Tab("logs", "Logs", logs.build),
    Tab("config", "Config", config.build),
    Tab("checkpoints", "Checkpoints", checkpoints.build),
    Tab("files", "Files", files.build),
)


def tabs_for(worker: str) -> tuple[Tab, ...]:
    """Return the tabs of a worker's runs: those of its lane first."""
    lane: Lane = lane_of(worker)
    if lane == "analytics":
        return (*_FIRST, *_ANALYTICS, *_TELEMETRY, *_LAST)
    return (*_FIRST, *_TELEMETRY, *_ANALYTICS, *_LAST)
