"""Environments show themselves while they are stepped: in every mode, from every backend."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from cleanrl_worker.envs import watched
from cleanrl_worker.envs.build import Normalisation, build_envs
from cleanrl_worker.envs.normalise import NormalisedEnvs
from cleanrl_worker.envs.registry import resolve
from cleanrl_worker.envs.vector import EnvBatch
from cleanrl_worker.envs.watched import WatchedEnvs
from cleanrl_worker.lane_settings import LaneSettings, lane_variables, read_lane_settings
from cleanrl_worker.lanes import open_view
from cleanrl_worker.showing import View
from mosaic.contracts.errors import ConfigError
from mosaic.fastlane.frame import Frame
from mosaic.fastlane.reader import LaneReader

RUN = "watched-run"
POLE = "CartPole-v1"


@pytest.fixture
def lanes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Give the test a memory of its own, and a run whose frames are on."""
    (tmp_path / "shm").mkdir()
    monkeypatch.setenv("MOSAIC_FASTLANE_DIR", str(tmp_path / "shm"))
    monkeypatch.setenv("MOSAIC_RUN_ID", RUN)
    monkeypatch.setenv("CLEANRL_FASTLANE_INTERVAL_MS", "1")
    monkeypatch.setenv("MOSAIC_FASTLANE_VIEW_BUDGET", "0.5")
    return tmp_path / "shm"


def show(num_envs: int, env_id: str = POLE, **options: object) -> EnvBatch:
    view = open_view(num_envs)
    return build_envs(resolve(env_id), num_envs, view=view, **options)  # type: ignore[arg-type]


def step(envs: EnvBatch, count: int) -> None:
    envs.reset(1)
    actions = np.zeros(envs.num_envs, np.int64)
    for _ in range(count):
        envs.step(actions)


def first_frame(reader: LaneReader, envs: EnvBatch, *, grid: bool = False) -> Frame:
    """Step until there is a frame."""
    envs.reset(1)
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        envs.step(np.zeros(envs.num_envs, np.int64))
        frame = reader.read_grid() if grid else reader.read(0)
        if frame is not None:
            return frame
    raise AssertionError("no frame came")


@pytest.mark.parametrize("backend", ["sync", "async", "native"])
def test_one_environment_is_shown_from_every_backend(lanes: Path, backend: str) -> None:
    envs = show(2, backend=backend)
    with LaneReader(RUN) as reader:
        frame = first_frame(reader, envs)
        assert frame.pixels.shape == (320, 480, 3)  # drawn at the lane's own size
        assert len(np.unique(frame.pixels)) > 5  # and something is in it
        assert frame.metrics.last_reward == 1.0
        assert reader.status().notice.status == "live"
    envs.close()


def test_a_grid_shows_the_first_environments(lanes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GYM_GUI_FASTLANE_VIDEO_MODE", "grid")
    envs = show(8)
    with LaneReader(RUN) as reader:
        frame = first_frame(reader, envs, grid=True)
        assert frame.pixels.shape == (2 * 320, 4 * 480, 3)
    envs.close()


def test_processes_each_show_their_own_in_a_grid(
    lanes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GYM_GUI_FASTLANE_VIDEO_MODE", "grid")
    monkeypatch.setenv("GYM_GUI_FASTLANE_GRID_LIMIT", "4")
    envs = show(6, backend="async", cpus=2)
    with LaneReader(RUN) as reader:
        frame = first_frame(reader, envs, grid=True)
        assert frame.pixels.shape == (2 * 320, 2 * 480, 3)
    envs.close()


def test_off_leaves_no_wrapper_and_no_file(lanes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GYM_GUI_FASTLANE_VIDEO_MODE", "off")
    envs = show(2)
    assert not isinstance(envs, WatchedEnvs)
    assert not list(lanes.iterdir())


def test_a_process_of_no_run_shows_nothing(lanes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MOSAIC_RUN_ID")
    assert open_view(2) is None


def test_a_clean_cut_goes_on_in_the_same_lane(lanes: Path) -> None:
    envs = show(1)
    with LaneReader(RUN) as reader:
        before = first_frame(reader, envs)
        envs.rebuild()
        after = first_frame(reader, envs)
        assert after.number > before.number
    envs.close()


def test_what_is_learned_from_is_the_same_with_and_without(lanes: Path) -> None:
    shown, hidden = show(2), build_envs(resolve(POLE), 2)
    np.testing.assert_array_equal(shown.reset(5), hidden.reset(5))
    for number in range(50):
        actions = np.array([number % 2, 1])
        with_frames, without = shown.step(actions), hidden.step(actions)
        np.testing.assert_array_equal(with_frames.obs, without.obs)
    shown.close()


def test_normalisers_stay_outside(lanes: Path) -> None:
    envs = show(1, "Pendulum-v1", normalise=Normalisation(0.99))
    assert isinstance(envs, NormalisedEnvs)
    envs.close()


def test_a_renderer_that_fails_says_so_and_training_goes_on(
    lanes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    envs = show(1)
    assert isinstance(envs, WatchedEnvs)

    def fail(index: int, max_dim: int) -> np.ndarray:
        raise OSError("no display")

    envs._show._draw = fail
    with LaneReader(RUN) as reader:
        step(envs, 50)
        notice = reader.status().notice
        assert (notice.status, notice.reason) == ("no_renderer", "OSError: no display")
    envs.close()


def test_a_batch_that_cannot_draw_says_so(lanes: Path) -> None:
    view = open_view(1)
    assert view is not None
    inner = build_envs(resolve(POLE), 1)

    class Blind:
        num_envs = 1

    assert watched.watched(Blind(), view).num_envs == 1  # type: ignore[arg-type]
    with LaneReader(RUN) as reader:
        assert reader.status().notice.status == "no_renderer"
    inner.close()


def test_settings_travel_through_the_environment() -> None:
    options = {"fastlane_video_mode": "grid", "fastlane_grid_limit": 4, "fastlane_budget": 0.1}
    settings = read_lane_settings(lane_variables(options))
    assert settings == LaneSettings(mode="grid", grid_limit=4, budget=0.1)


@pytest.mark.parametrize(
    ("variables", "what"),
    [
        ({"GYM_GUI_FASTLANE_VIDEO_MODE": "gird"}, "fastlane_video_mode='gird'"),
        ({"GYM_GUI_FASTLANE_SLOT": "x"}, "GYM_GUI_FASTLANE_SLOT='x'"),
        ({"GYM_GUI_FASTLANE_GRID_LIMIT": "99"}, "fastlane_grid_limit=99"),
    ],
)
def test_bad_settings_are_named(variables: dict[str, str], what: str) -> None:
    with pytest.raises(ConfigError, match=what):
        read_lane_settings(variables)


def test_a_slot_that_does_not_exist_is_refused(
    lanes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GYM_GUI_FASTLANE_SLOT", "7")
    with pytest.raises(ConfigError, match="fastlane_slot=7 is not allowed: the run has 2"):
        open_view(2)


def test_a_view_travels_to_another_process() -> None:
    view = View(Path("/lanes"), LaneSettings(mode="grid"), {0: 0, 3: 3})
    assert View.from_json(view.to_json()) == view
    assert view.share(2, 2).shown == {1: 3}


def test_nothing_is_left_when_the_run_ends(lanes: Path) -> None:
    pid = os.fork()
    if pid == 0:
        envs = show(1)
        step(envs, 5)
        from atexit import _run_exitfuncs

        _run_exitfuncs()
        os._exit(0)
    os.waitpid(pid, 0)
    assert not list(lanes.rglob("*"))
