"""One meaning of a batch, whatever steps it: ends, resets, seeds, fresh environments."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.utils.seeding import np_random
from tests.cleanrl_worker.envs.probe import LIMIT

from cleanrl_worker.envs.build import Normalisation, build_envs
from cleanrl_worker.envs.normalise import NormalisedEnvs
from cleanrl_worker.envs.registry import ResolvedEnv, resolve
from cleanrl_worker.envs.sync import SyncEnvs
from cleanrl_worker.envs.vector import EnvBatch, Episode, Step

Build = Callable[..., EnvBatch]

USER_MODULE = "tests.cleanrl_worker.envs.registering_module"
ROOT = Path(__file__).parents[3]


@pytest.fixture
def build(monkeypatch: pytest.MonkeyPatch) -> Iterator[Build]:
    """Build batches that are closed after the test."""
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}:{ROOT / 'src'}")  # for environment processes
    built: list[EnvBatch] = []

    def build(env_id: str, num_envs: int, backend: str = "sync", **options: Any) -> EnvBatch:
        built.append(build_envs(resolved(env_id), num_envs, backend=backend, cpus=2, **options))
        return built[-1]

    yield build
    for envs in built:
        envs.close()


def resolved(env_id: str) -> ResolvedEnv:
    return resolve(env_id, allowed_modules=[USER_MODULE])


PROBE = f"{USER_MODULE}:MosaicProbe-v0"


def play(envs: EnvBatch, steps: int, seed: int = 5) -> list[Step]:
    """Reset, then take random actions that depend on nothing but the number of environments."""
    rng = np.random.default_rng(3)
    envs.reset(seed)
    space = envs.action_space
    if isinstance(space, spaces.Discrete):
        return [envs.step(rng.integers(space.n, size=envs.num_envs)) for _ in range(steps)]
    shape = envs.num_envs, *(space.shape or ())
    return [envs.step(2 * rng.normal(size=shape).astype(np.float32)) for _ in range(steps)]


def assert_same(ours: list[Step], theirs: list[Step], tolerance: float = 0.0) -> None:
    for one, other in zip(ours, theirs, strict=True):
        assert list(one.episodes) == list(other.episodes)
        for mine, yours in zip(one[:5], other[:5], strict=True):
            assert mine.dtype == yours.dtype
            assert np.allclose(mine, yours, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("backend", ["sync", "async"])
def test_the_probe_ends_is_reset_and_seeded_as_promised(build: Build, backend: str) -> None:
    """The first environment terminates in its second step, the others reach the time limit."""
    envs = build(PROBE, 3, backend)
    drawn = [np_random(40 + index)[0].random(2).astype(np.float32) for index in range(3)]
    assert envs.reset(40).tolist() == [[0, 1, drawn[index][0]] for index in range(3)]

    step = envs.step(np.array([0, 0, 0]))
    assert step.obs.tolist() == [[1, 1, drawn[index][0]] for index in range(3)]
    assert step.obs is step.next_obs
    assert not step.episodes

    step = envs.step(np.array([1, 0, 0]))
    assert step.next_obs[0].tolist() == [2, 1, drawn[0][0]], "where the action led"
    assert step.obs[0].tolist() == [0, 2, drawn[0][1]], "where the next episode starts"
    assert step.terminated.tolist() == [True, False, False]
    assert not step.truncated.any()
    assert list(step.episodes) == [Episode(0, 1.0 + 2.0, 2)]

    step = envs.step(np.array([0, 0, 1]))
    assert step.truncated.tolist() == [False, True, True]
    assert step.terminated.tolist() == [False, False, True], "an end can be both"
    assert step.next_obs[1].tolist() == [LIMIT, 1, drawn[1][0]]
    assert step.obs[1].tolist() == [0, 2, drawn[1][1]], "not seeded again"
    assert step.rewards.tolist() == [1.0, 3.0, 3.0]
    assert list(step.episodes) == [Episode(1, 6.0, 3), Episode(2, 6.0, 3)]

    envs.rebuild()
    assert envs.reset(40).tolist() == [[0, 1, drawn[index][0]] for index in range(3)], "fresh"


def test_earlier_steps_are_the_callers_to_keep(build: Build) -> None:
    envs = build("CartPole-v1", 2)
    steps = play(envs, 50)
    again = play(envs, 50)
    assert_same(steps, again)
    assert len({id(step.obs) for step in steps}) == 50


@pytest.mark.parametrize("backend", ["sync", "async", "native", "envpool"])
def test_one_seed_is_one_trajectory(build: Build, backend: str) -> None:
    if backend == "envpool":
        pytest.importorskip("envpool")
    envs = build("CartPole-v1", 3, backend)
    first = play(envs, 100)
    assert sum(len(step.episodes) for step in first) > 3
    assert_same(first, play(envs, 100))
    envs.rebuild()
    assert_same(first, play(envs, 100))
    assert not np.array_equal(envs.reset(5), envs.reset(6))


@pytest.mark.parametrize("env_id", ["CartPole-v1", "Pendulum-v1", "MiniGrid-Empty-5x5-v0"])
def test_sync_environments_do_what_gymnasium_does(build: Build, env_id: str) -> None:
    """Gymnasium's own wrappers, stepped by hand, against the batch that took them off."""
    ours = build(env_id, 2)
    theirs = SyncEnvs(lambda _: Untouched(gym.make(env_id)), 2, env_id=env_id)
    assert_same(play(ours, 450), play(theirs, 450))
    assert ours.max_episode_steps in (500, 200, 100)


class Untouched(gym.Wrapper[Any, Any, Any, Any]):
    """Hides the wrappers below from SyncEnvs, so that Gymnasium keeps the time limit."""


@pytest.mark.parametrize("env_id", ["Pendulum-v1", "MiniGrid-Empty-5x5-v0"])
def test_processes_do_what_one_process_does(build: Build, env_id: str) -> None:
    assert_same(play(build(env_id, 5, "async"), 210), play(build(env_id, 5), 210))


@pytest.mark.parametrize(("env_id", "limit"), [("CartPole-v1", 500), ("CartPole-v0", 200)])
def test_native_poles_do_what_single_ones_do(build: Build, env_id: str, limit: int) -> None:
    native = build(env_id, 5, "native")
    assert native.max_episode_steps == limit
    assert_same(play(native, 300), play(build(env_id, 5), 300), tolerance=1e-5)


def test_native_poles_are_truncated(build: Build) -> None:
    """Held up by a simple controller: pole angle and its speed decide."""
    envs = build("CartPole-v0", 2, "native")
    obs = envs.reset(1)
    for _ in range(200):
        step = envs.step((obs[:, 2] + obs[:, 3] > 0).astype(np.int64))
        obs = step.obs
    assert step.truncated.all()
    assert not step.terminated.any()
    assert list(step.episodes) == [Episode(0, 200.0, 200), Episode(1, 200.0, 200)]
    assert np.abs(step.obs).max() <= 0.05


def test_pooled_poles_follow_cartpole(build: Build) -> None:
    """From what was seen before a step, Gymnasium's own CartPole foretells what comes of it."""
    pytest.importorskip("envpool")
    envs = build("CartPole-v1", 3, "envpool")
    single: Any = gym.make("CartPole-v1").unwrapped
    rng = np.random.default_rng(2)
    obs, lengths = envs.reset(11), [0, 0, 0]
    for _ in range(120):
        actions = rng.integers(2, size=3)
        step = envs.step(actions)
        ended = {episode.env: episode for episode in step.episodes}
        for index in range(3):
            single.reset()
            single.state = obs[index].astype(np.float64)
            foretold, _, terminated, _, _ = single.step(int(actions[index]))
            assert np.allclose(step.next_obs[index], foretold, atol=1e-4)
            assert step.terminated[index] == terminated == (index in ended)
            lengths[index] += 1
            if index in ended:
                assert ended[index] == Episode(index, float(lengths[index]), lengths[index])
                assert np.abs(step.obs[index]).max() <= 0.05
                lengths[index] = 0
            else:
                assert np.array_equal(step.obs[index], step.next_obs[index])
        obs = step.obs


def test_pooled_grids_show_the_image_alone(build: Build) -> None:
    pytest.importorskip("envpool")
    envs = build("MiniGrid-Empty-5x5-v0", 2, "envpool")
    assert envs.observation_space == build("MiniGrid-Empty-5x5-v0", 1).observation_space
    assert envs.reset(1).shape == (2, 7, 7, 3)
    assert play(envs, 10)[-1].obs.dtype == np.uint8


class Echo(gym.Env[Any, Any]):
    """Shows the action that it got."""

    observation_space = spaces.Box(-9, 9, (4,), np.float32)

    def __init__(self, action_space: gym.Space[Any]) -> None:
        self.action_space = action_space

    def reset(self, **_: Any) -> tuple[Any, dict[str, Any]]:
        return np.zeros(4), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        assert self.action_space.contains(action)
        return np.resize(np.ravel(action), 4), 0.0, False, False, {}


@pytest.mark.parametrize(
    ("space", "actions", "seen"),
    [
        (spaces.Discrete(3, start=-1), np.array([0, 2]), [[-1] * 4, [1] * 4]),
        (spaces.Discrete(3), np.array([0, 2]), [[0] * 4, [2] * 4]),
        (
            spaces.Box(-1, 1, (2, 2), np.float32),
            np.array([[0.5, -3, 3, 0], [1, 1, -1, -1]], np.float32),
            [[0.5, -1, 1, 0], [1, 1, -1, -1]],
        ),
        (spaces.Box(-1, 1, (1,), np.float64), np.array([[7.0], [0.25]]), [[1] * 4, [0.25] * 4]),
        (spaces.MultiBinary(4), np.eye(4, dtype=np.int8)[:2], [[1, 0, 0, 0], [0, 1, 0, 0]]),
    ],
)
def test_actions_arrive_as_the_space_wants_them(
    space: gym.Space[Any], actions: np.ndarray[Any, Any], seen: list[list[float]]
) -> None:
    envs = SyncEnvs(lambda _: Echo(space), 2, env_id="Echo-v0")
    envs.reset(1)
    assert envs.step(actions).obs.tolist() == seen


def test_the_normaliser_is_put_on_top(build: Build) -> None:
    envs = build("Pendulum-v1", 2, normalise=Normalisation(gamma=0.9))
    assert isinstance(envs, NormalisedEnvs)


def test_the_first_environment_is_filmed_and_a_cut_spares_its_films(
    build: Build, tmp_path: Path
) -> None:
    envs = build("CartPole-v1", 2, video_dir=tmp_path)
    play(envs, 20)
    envs.rebuild()
    play(envs, 20)
    envs.close()
    films = sorted(path.name for path in tmp_path.iterdir())
    assert "rl-video-episode-0.mp4" in films
    assert "rl-video-part-1-episode-0.mp4" in films
    assert all(path.stat().st_size for path in tmp_path.iterdir())
