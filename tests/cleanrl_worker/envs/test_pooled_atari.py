"""Atari games in envpool: the games of the sync backend, frame by frame."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from tests.cleanrl_worker.envs.test_native_atari import (
    SEED,
    SHORT_FRAMES,
    SameStart,
    assert_same,
    assert_same_games,
    play,
)

from cleanrl_worker.envs import pooled
from cleanrl_worker.envs.atari import NOOP, NOOP_MAX
from cleanrl_worker.envs.backends import choose_backend
from cleanrl_worker.envs.build import build_envs
from cleanrl_worker.envs.pooled_atari import PooledGames
from cleanrl_worker.envs.registry import make, resolve
from cleanrl_worker.envs.sight import Sight
from cleanrl_worker.envs.sync import SyncEnvs
from cleanrl_worker.envs.vector import EnvBatch
from cleanrl_worker.preparation import prepare

pytest.importorskip("envpool")
BREAKOUT = "Breakout-v5"


def idle_frames(env_id: str, seed: int) -> Iterator[int]:
    """Give the idle frames of one pooled game after the other, told by the console's memory."""
    games: Any = PooledGames(resolve(env_id), 1)
    games.reset(seed)
    pool: Any = games._make(seed)
    console: Any = make(resolve(env_id))
    while True:
        wanted = pool.reset()[1]["ram"][0]
        console._emulator.reset(seed=seed)
        for _ in range(NOOP_MAX):
            console._ale.act(console._actions[NOOP])
            if np.array_equal(console._ale.getRAM(), wanted):
                break
        else:
            raise AssertionError("no number of idle frames gives this memory")
        yield console._ale.getEpisodeFrameNumber()


@pytest.fixture
def games() -> Iterator[EnvBatch]:
    envs = build_envs(resolve(BREAKOUT), 3, backend="envpool", cpus=2)
    yield envs
    envs.close()


@pytest.mark.parametrize(
    ("env_id", "lives", "finished"),
    [
        (BREAKOUT, 10, 2),
        ("SpaceInvadersNoFrameskip-v4", 3, 1),
        ("FreewayNoFrameskip-v4", 0, 0),  # neither lives nor FIRE
    ],
)
def test_a_game_is_that_of_the_sync_backend(env_id: str, lives: int, finished: int) -> None:
    pool = build_envs(resolve(env_id), 1, backend="envpool")
    sync = SyncEnvs(lambda _: SameStart(env_id, idle_frames(env_id, SEED)), 1, env_id=env_id)
    steps, expected = play(pool, 600), play(sync, 600)
    assert_same_games(steps, expected)
    assert sum(int(step.terminated[0]) for step in steps) >= lives
    assert sum(len(step.episodes) for step in steps) >= finished
    pool.close()
    sync.close()


def test_the_seed_decides_and_so_does_the_place_in_the_batch(games: EnvBatch) -> None:
    first = play(games, 150)
    games.rebuild()
    assert_same(first, play(games, 150))
    alone = build_envs(resolve(BREAKOUT), 1, backend="envpool")
    assert np.array_equal(alone.reset(SEED + 2)[0], first[0].obs[2])
    alone.close()


def test_the_frame_limit_truncates() -> None:
    import gymnasium as gym

    resolve(BREAKOUT)
    spec = gym.registry["BreakoutNoFrameskip-v4"]
    limit = {**spec.kwargs, "max_num_frames_per_episode": SHORT_FRAMES}
    gym.register("TruncatedBreakout-v1", spec.entry_point, kwargs=limit)
    envs = build_envs(resolve("TruncatedBreakout-v1"), 1, backend="envpool")
    steps = play(envs, 400)
    ends = [number for number, step in enumerate(steps) if step.truncated[0]]
    assert len(ends) >= 2
    for end in ends:
        assert [episode.env for episode in steps[end].episodes] == [0]
        assert not np.array_equal(steps[end].next_obs[0], steps[end].obs[0])
    envs.close()
    del gym.registry["TruncatedBreakout-v1"]


def test_it_shows_what_the_agent_sees(games: EnvBatch) -> None:
    obs = games.reset(SEED)
    picture = games.picture(1, 200)  # type: ignore[attr-defined]
    assert picture.shape == (168, 168, 3)
    assert np.array_equal(picture[::2, ::2, 0], obs[1, -1])


def test_an_algorithm_that_remembers_sees_one_picture() -> None:
    stacked = build_envs(resolve(BREAKOUT), 2, backend="envpool")
    single = build_envs(resolve(BREAKOUT, sight=Sight(frame_stack=1)), 2, backend="envpool")
    for one, four in zip(play(single, 60), play(stacked, 60), strict=True):
        assert np.array_equal(one.obs, four.obs[:, -1:])
    single.close()
    stacked.close()


@pytest.mark.parametrize("video", [False, True])
def test_a_recipe_made_for_it_takes_ale_pys_games_where_it_is_missing(
    video: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = resolve(BREAKOUT)

    def chosen() -> str:
        return choose_backend(env, 8, "auto", video=video, pooled_games=True)

    assert chosen() == ("sync" if video else "envpool")
    monkeypatch.setattr(pooled, "is_installed", lambda: False)
    assert chosen() == ("sync" if video else "native")


def test_the_choice_is_stored_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pooled, "is_installed", lambda: False)
    prepared = prepare("ppo_atari_envpool", ["--num-envs=2", "--num-steps=4", "--dry-run"])
    assert prepared.options.env_backend == prepared.settings()["env_backend"] == "native"
    assert any("envpool is not installed" in warning for warning in prepared.warnings)
    prepared.envs.close()
