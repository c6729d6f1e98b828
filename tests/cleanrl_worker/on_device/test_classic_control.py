"""Classic control on the device is Gymnasium's, frame by frame."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from cleanrl_worker.on_device import batch
from cleanrl_worker.on_device.classic_control import IDS, find_environment

STEPS = 300
# Gymnasium computes in float64; Acrobot's four stages of one step add up the most.
TOLERANCE = 2e-5
EVERY_ID = pytest.mark.parametrize("env_id", IDS)


def make(env_id: str) -> gym.Env[Any, Any]:
    with pytest.warns() if env_id == "CartPole-v0" else np.errstate():
        return gym.make(env_id)


@EVERY_ID
def test_every_frame_is_gymnasiums(env_id: str) -> None:
    env, device = make(env_id), find_environment(env_id)
    assert device is not None
    step, observe = jax.jit(device.step), jax.jit(device.observe)
    env.action_space.seed(1)
    first, _ = env.reset(seed=1)
    np.testing.assert_allclose(observe(_state(env)), first, atol=TOLERANCE)
    ends = 0
    for _ in range(STEPS):
        before, action = _state(env), env.action_space.sample()

        obs, reward, terminated, truncated, _ = env.step(action)
        state, found_reward, found_end = step(before, jnp.asarray(action))

        np.testing.assert_allclose(observe(state), obs, atol=TOLERANCE, rtol=TOLERANCE)
        assert float(found_reward) == pytest.approx(float(reward), abs=1e-4)
        assert bool(found_end) == terminated
        if terminated or truncated:
            ends += 1
            env.reset()
    assert ends or env_id == "Acrobot-v1"


def _state(env: gym.Env[Any, Any]) -> np.ndarray:
    inner: Any = env.unwrapped
    return np.array(inner.state, np.float32)


@EVERY_ID
def test_the_limit_is_gymnasiums(env_id: str) -> None:
    spec, device = gym.spec(env_id), find_environment(env_id)
    assert device is not None
    assert device.max_episode_steps == spec.max_episode_steps


@EVERY_ID
def test_first_states_are_spread_as_gymnasiums(env_id: str) -> None:
    env, device = make(env_id), find_environment(env_id)
    assert device is not None
    drawn = jax.vmap(device.reset)(jax.random.split(jax.random.key(1), 2000))
    env.reset(seed=1)
    expected = []
    for _ in range(2000):
        env.reset()
        expected.append(_state(env))
    reach = np.abs(np.array(expected)).max(0) + 1e-6
    np.testing.assert_allclose(
        np.array(drawn).min(0) / reach, np.min(expected, 0) / reach, atol=0.02
    )
    np.testing.assert_allclose(
        np.array(drawn).max(0) / reach, np.max(expected, 0) / reach, atol=0.02
    )


def test_the_car_reaches_its_goal_and_the_links_swing_up() -> None:
    """Terminations that random actions hardly find, by rules that do."""
    assert _plays_to_the_end("MountainCar-v0", lambda obs: 2 if obs[1] >= 0 else 0)
    assert _plays_to_the_end("Acrobot-v1", lambda obs: 2 if obs[5] >= 0 else 0)


def _plays_to_the_end(env_id: str, rule: Any) -> bool:
    env, device = gym.make(env_id), find_environment(env_id)
    assert device is not None
    step = jax.jit(device.step)
    obs, _ = env.reset(seed=1)
    while True:
        state, action = _state(env), rule(obs)
        obs, reward, terminated, truncated, _ = env.step(action)
        _, found_reward, found_end = step(state, jnp.asarray(action))
        assert bool(found_end) == terminated
        assert float(found_reward) == float(reward)
        if terminated or truncated:
            return bool(terminated)


def test_an_environment_that_ends_begins_anew_in_the_same_step() -> None:
    device = find_environment("CartPole-v1")
    assert device is not None
    begun = batch.begin(device, 3, jax.random.key(1))
    falling = begun._replace(states=begun.states.at[1, 2].set(0.3), lengths=begun.lengths + 7)

    held, outcome = jax.jit(lambda b, k: batch.step(device, b, jnp.zeros(3, jnp.int32), k))(
        falling, jax.random.key(2)
    )

    assert outcome.ended.tolist() == outcome.terminated.tolist() == [False, True, False]
    assert held.lengths.tolist() == [8, 0, 8]
    assert outcome.lengths.tolist() == [8, 8, 8]
    assert abs(float(outcome.next_obs[1, 2])) > 0.2
    assert abs(float(held.states[1, 2])) <= 0.05


def test_an_episode_is_truncated_at_its_limit() -> None:
    device = find_environment("Pendulum-v1")
    assert device is not None
    begun = batch.begin(device, 2, jax.random.key(1))
    late = begun._replace(lengths=jnp.array([device.max_episode_steps - 1, 0], jnp.int32))

    _, outcome = batch.step(device, late, jnp.zeros((2, 1)), jax.random.key(2))

    assert outcome.ended.tolist() == [True, False]
    assert outcome.terminated.tolist() == [False, False]
