"""Atari games in ale-py's vector environment: the games of the sync backend, frame by frame."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from cleanrl_worker.envs.atari import NOOP, AtariGame
from cleanrl_worker.envs.backends import choose_backend
from cleanrl_worker.envs.build import build_envs
from cleanrl_worker.envs.native_atari import NativeEmulator
from cleanrl_worker.envs.registry import make, resolve
from cleanrl_worker.envs.sight import Sight
from cleanrl_worker.envs.sync import SyncEnvs
from cleanrl_worker.envs.vector import EnvBatch, Step
from mosaic.contracts.errors import ConfigError

BREAKOUT = "BreakoutNoFrameskip-v4"
SEED = 1  # one of those whose emulator seed has no sign, which is the same on both sides
SHORT_FRAMES = 400


class SameStart(AtariGame):
    """A game that begins after the idle frames that it is told."""

    def __init__(self, env_id: str, idle_frames: Iterator[int]) -> None:
        made: Any = make(resolve(env_id))
        super().__init__(made._emulator)
        self._idle_frames = idle_frames

    def _load(self, seed: int | None) -> None:
        self._emulator.reset(seed=seed)
        for _ in range(next(self._idle_frames)):
            self._ale.act(self._actions[NOOP])


def idle_frames(env_id: str, seed: int) -> Iterator[int]:
    """Give the idle frames of one native game after the other: its seed alone decides them."""
    options = gym.spec(env_id).kwargs
    twin = NativeEmulator(options["game"], stickiness=0.0, full_action_space=False)
    yield twin.load(seed).frames
    while True:
        yield twin.load(None).frames


def play(envs: EnvBatch, steps: int, seed: int = SEED) -> list[Step]:
    assert isinstance(envs.action_space, gym.spaces.Discrete)
    actions = np.random.default_rng(8).integers(envs.action_space.n, size=(steps, envs.num_envs))
    obs = envs.reset(seed)
    nothing = np.zeros(envs.num_envs)
    return [Step(obs, nothing, nothing, nothing, obs, ()), *map(envs.step, actions)]


def assert_same(ones: list[Step], others: list[Step]) -> None:
    for one, other in zip(ones, others, strict=True):
        assert list(one.episodes) == list(other.episodes)
        assert all(np.array_equal(a, b) for a, b in zip(one[:5], other[:5], strict=True))


def assert_same_games(ones: list[Step], others: list[Step]) -> None:
    """Compare games, but for the picture of the step in which one ends, which may be an older."""
    for one, other in zip(ones, others, strict=True):
        assert np.array_equal(one.obs, other.obs)
        assert np.array_equal(one.rewards, other.rewards)
        assert np.array_equal(one.terminated, other.terminated)
        assert list(one.episodes) == list(other.episodes)
        if not one.episodes:
            assert np.array_equal(one.next_obs, other.next_obs)


@pytest.fixture
def games() -> Iterator[EnvBatch]:
    envs = build_envs(resolve(BREAKOUT), 3, backend="native", cpus=2)
    yield envs
    envs.close()


@pytest.fixture
def registered() -> Iterator[str]:
    """An id of which games are truncated, in a step's last frame or before."""
    resolve(BREAKOUT)
    spec = gym.registry[BREAKOUT]
    limit = {**spec.kwargs, "max_num_frames_per_episode": SHORT_FRAMES}
    gym.register("TruncatedBreakout-v0", spec.entry_point, kwargs=limit)
    yield "TruncatedBreakout-v0"
    del gym.registry["TruncatedBreakout-v0"]


@pytest.mark.parametrize(
    ("env_id", "lives", "finished"),
    [
        (BREAKOUT, 10, 2),
        ("ALE/Breakout-v5", 10, 2),  # actions stick
        ("SpaceInvadersNoFrameskip-v4", 3, 1),
        ("FreewayNoFrameskip-v4", 0, 0),  # neither lives nor FIRE
    ],
)
def test_a_game_is_that_of_the_sync_backend(env_id: str, lives: int, finished: int) -> None:
    native = build_envs(resolve(env_id), 1, backend="native")
    sync = SyncEnvs(lambda _: SameStart(env_id, idle_frames(env_id, SEED)), 1, env_id=env_id)
    steps, expected = play(native, 600), play(sync, 600)
    assert_same_games(steps, expected)
    assert sum(int(step.terminated[0]) for step in steps) >= lives
    assert sum(len(step.episodes) for step in steps) >= finished
    native.close()
    sync.close()


@pytest.mark.parametrize("backend", ["sync", "native", "async"])
def test_an_algorithm_that_remembers_sees_one_picture(backend: str) -> None:
    stacked = build_envs(resolve(BREAKOUT), 2, backend=backend, cpus=2)
    single = build_envs(resolve(BREAKOUT, sight=Sight(frame_stack=1)), 2, backend=backend, cpus=2)
    assert single.observation_space.shape == (1, 84, 84)
    for one, four in zip(play(single, 60), play(stacked, 60), strict=True):
        assert np.array_equal(one.obs, four.obs[:, -1:])
        assert np.array_equal(one.next_obs, four.next_obs[:, -1:])
    single.close()
    stacked.close()


def test_the_frame_limit_truncates_and_leaves_a_picture_to_bootstrap_from(registered: str) -> None:
    envs = build_envs(resolve(registered), 1, backend="native")
    assert envs.max_episode_steps == SHORT_FRAMES // 4
    steps = play(envs, 250)
    ends = [number for number, step in enumerate(steps) if step.truncated[0]]
    assert len(ends) >= 2
    for end in ends:
        step, before = steps[end], steps[end - 1]
        assert [episode.env for episode in step.episodes] == [0]
        assert np.array_equal(step.next_obs[0, :3], before.obs[0, 1:])
        assert not np.array_equal(step.next_obs[0], step.obs[0])
        assert (step.obs[0] == step.obs[0, :1]).all()
    envs.close()


def test_the_seed_decides_and_a_rebuilt_batch_is_a_new_one(games: EnvBatch) -> None:
    first = play(games, 150)
    again = play(games, 150)
    games.rebuild()
    assert_same(first, again)
    assert_same(first, play(games, 150))


def test_it_does_not_matter_how_many_are_emulated_at_once(games: EnvBatch) -> None:
    envs = build_envs(resolve(BREAKOUT), 3, backend="native", cpus=1)
    assert_same(play(games, 150), play(envs, 150))
    envs.close()


def test_another_seed_gives_another_game() -> None:
    envs = build_envs(resolve("SpaceInvadersNoFrameskip-v4"), 2, backend="native")
    first, second = play(envs, 20, seed=1), play(envs, 20, seed=3)
    assert any(not np.array_equal(a.obs, b.obs) for a, b in zip(first, second, strict=True))
    envs.close()


def test_what_it_cannot_set_is_refused() -> None:
    resolve(BREAKOUT)
    spec = gym.registry[BREAKOUT]
    gym.register("HardBreakout-v0", spec.entry_point, kwargs={**spec.kwargs, "difficulty": 1})
    with pytest.raises(ConfigError, match="does not have difficulty=1"):
        build_envs(resolve("HardBreakout-v0"), 1, backend="native")
    del gym.registry["HardBreakout-v0"]


@pytest.mark.parametrize(("cpus", "chosen"), [(1, "sync"), (4, "async")])
def test_it_is_not_chosen_unasked(cpus: int, chosen: str) -> None:
    assert choose_backend(resolve(BREAKOUT), 8, "auto", cpus=cpus) == chosen
