"""The chart of several curves: what sets its axes, and which runs are one curve."""

from __future__ import annotations

from typing import Any

from gym_gui.experiments import experiment_key
from gym_gui.seeds import Band
from gym_gui.widgets.bands import NamedBand, axis_ends
from mosaic.proto import trainer_pb2 as pb


def named(mean: tuple[float, ...], reach: float) -> NamedBand:
    low, high = tuple(each - reach for each in mean), tuple(each + reach for each in mean)
    return NamedBand("one", Band(tuple(range(len(mean))), mean, low, high, (3,) * len(mean)))


def test_a_wide_band_does_not_set_the_axis() -> None:
    ends = axis_ends([named((0.0, 100.0), reach=2000.0)], smoothing=0.0)
    assert ends == {"min": -50.0, "max": 150.0}


def test_a_narrow_band_fits_whole() -> None:
    ends = axis_ends([named((0.0, 100.0), reach=3.0)], smoothing=0.0)
    assert ends["min"] <= -3.0
    assert ends["max"] >= 103.0


def test_a_curve_that_stands_still_has_an_axis() -> None:
    ends = axis_ends([named((5.0, 5.0), reach=0.0)], smoothing=0.0)
    assert ends["min"] <= 5.0 < ends["max"]
    assert axis_ends([], smoothing=0.0) == {}


def config(**extras: Any) -> dict[str, Any]:
    return {"metadata": {"worker": {"config": {"algo": "ppo", "extras": extras}}}}


def test_who_watches_does_not_set_runs_apart() -> None:
    run = pb.Run(worker="cleanrl", algo="ppo", env_id="CartPole-v1")
    watched = config(track_wandb=True, wandb_mode="offline", capture_video=True, fastlane_slot=1)
    assert experiment_key(run, watched) == experiment_key(run, config())
    assert experiment_key(run, config(stages=3)) != experiment_key(run, config())
