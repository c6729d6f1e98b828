"""Normalised batches against Gymnasium's own wrappers, and what a checkpoint keeps of them."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from cleanrl_worker.envs.normalise import NormalisedEnvs, RunningMoments
from cleanrl_worker.envs.sync import SyncEnvs

GAMMA = 0.97


def batch(num_envs: int = 1, env_id: str = "Pendulum-v1", **options: Any) -> SyncEnvs:
    return SyncEnvs(lambda _: gym.make(env_id, **options), num_envs, env_id=env_id)


def actions_for(envs: NormalisedEnvs, steps: int) -> np.ndarray[Any, Any]:
    space = envs.action_space
    rng = np.random.default_rng(7)
    if isinstance(space, gym.spaces.Discrete):
        return rng.integers(space.n, size=(steps, envs.num_envs))
    return rng.normal(size=(steps, envs.num_envs, *space.shape)).astype(np.float32)


@pytest.mark.parametrize("env_id", ["Pendulum-v1", "CartPole-v1", "MountainCarContinuous-v0"])
def test_one_environment_is_normalised_as_by_gymnasium(env_id: str) -> None:
    """Truncations (Pendulum after 50 steps) and terminations (CartPole) among the 1000 steps."""
    theirs = gym.wrappers.NormalizeReward(
        gym.wrappers.NormalizeObservation(in_float64(gym.make(env_id, max_episode_steps=50))), GAMMA
    )
    ours = NormalisedEnvs(batch(env_id=env_id, max_episode_steps=50), gamma=GAMMA)
    discrete = isinstance(ours.action_space, gym.spaces.Discrete)

    assert np.allclose(ours.reset(3)[0], np.clip(theirs.reset(seed=3)[0], -10, 10), atol=1e-6)
    for actions in actions_for(ours, 1000):
        action = int(actions[0]) if discrete else np.clip(actions[0], *bounds(ours))
        last, reward, terminated, truncated, _ = theirs.step(action)
        step = ours.step(actions)
        assert np.allclose(step.next_obs[0], np.clip(last, -10, 10), atol=1e-6)
        assert step.rewards[0] == pytest.approx(np.clip(reward, -10, 10), abs=1e-6)
        assert (bool(step.terminated[0]), bool(step.truncated[0])) == (terminated, truncated)
        first = theirs.reset()[0] if terminated or truncated else last
        assert np.allclose(step.obs[0], np.clip(first, -10, 10), atol=1e-6)


def in_float64(env: gym.Env[Any, Any]) -> gym.Env[Any, Any]:
    """Let Gymnasium count in float64 too: it takes the observations' own type."""
    assert env.observation_space.shape is not None
    space = gym.spaces.Box(-np.inf, np.inf, env.observation_space.shape, np.float64)
    return gym.wrappers.TransformObservation(env, np.float64, space)


def bounds(envs: NormalisedEnvs) -> tuple[Any, Any]:
    space = envs.action_space
    assert isinstance(space, gym.spaces.Box)
    return space.low, space.high


@pytest.mark.parametrize("rows", [1, 2, 64])
def test_moments_are_those_of_all_rows_so_far(rows: int) -> None:
    samples = np.random.default_rng(1).normal(5.0, 3.0, (20 * rows, 4))
    moments = RunningMoments((4,))
    for start in range(0, len(samples), rows):
        moments.update(samples[start : start + rows])
    # The 1e-4 of a sample that stands at the beginning is all that tells them apart.
    assert np.allclose(moments.mean, samples.mean(0), rtol=1e-4)
    assert np.allclose(moments.var, samples.var(0), rtol=1e-3)
    assert moments.count == pytest.approx(len(samples), abs=1e-3)


def test_all_environments_share_the_statistics() -> None:
    raw, normalised = batch(8), NormalisedEnvs(batch(8), gamma=GAMMA)
    first = raw.reset(5)
    assert np.allclose(
        normalised.reset(5), (first - first.mean(0)) / first.std(0), rtol=1e-2, atol=1e-2
    )
    assert normalised.state_dict()["obs_rms.count"] == pytest.approx(8.0001)


def test_episodes_report_raw_returns() -> None:
    raw, normalised = batch(2), NormalisedEnvs(batch(2), gamma=GAMMA)
    raw.reset(5)
    normalised.reset(5)
    for actions in actions_for(normalised, 200):
        expected, step = raw.step(actions), normalised.step(actions)
    assert len(step.episodes) == 2
    assert step.episodes == expected.episodes
    assert np.abs(step.rewards).max() < np.abs(expected.rewards).max()


def test_statistics_survive_a_checkpoint_and_the_running_returns_do_not() -> None:
    first = NormalisedEnvs(batch(2), gamma=GAMMA)
    first.reset(1)
    for actions in actions_for(first, 30):
        first.step(actions)
    state = first.state_dict()
    assert sorted(state) == [
        "obs_rms.count",
        "obs_rms.mean",
        "obs_rms.var",
        "return_rms.count",
        "return_rms.mean",
        "return_rms.var",
    ]
    second = NormalisedEnvs(batch(2), gamma=GAMMA)
    second.load_state_dict(state)
    first.rebuild()
    assert np.array_equal(first.reset(9), second.reset(9))
    for actions in actions_for(first, 300):
        ours, theirs = first.step(actions), second.step(actions)
        assert np.array_equal(ours.obs, theirs.obs)
        assert np.array_equal(ours.rewards, theirs.rewards)
    assert state["obs_rms.count"] == pytest.approx(62.0, abs=1e-3), "the state is a copy"


def test_frozen_statistics_stand_still_and_rewards_are_raw() -> None:
    trained = NormalisedEnvs(batch(2), gamma=GAMMA)
    trained.reset(1)
    for actions in actions_for(trained, 30):
        trained.step(actions)
    frozen = NormalisedEnvs(batch(2), gamma=GAMMA, frozen=True)
    frozen.load_state_dict(trained.state_dict())
    raw = batch(2)
    raw.reset(4)
    frozen.reset(4)
    for actions in actions_for(frozen, 250):
        assert np.array_equal(frozen.step(actions).rewards, raw.step(actions).rewards)
    assert all(
        np.array_equal(value, trained.state_dict()[key])
        for key, value in frozen.state_dict().items()
    )


def test_outliers_are_clipped() -> None:
    envs = NormalisedEnvs(batch(1), gamma=GAMMA, frozen=True)
    state = envs.state_dict()
    envs.load_state_dict({**state, "obs_rms.var": np.full(3, 1e-6)})
    assert np.abs(envs.reset(2)).max() == 10
