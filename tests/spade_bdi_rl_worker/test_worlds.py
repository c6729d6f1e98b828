"""The transition tables play exactly as the environments they are read from."""

from __future__ import annotations

import random

import pytest

from mosaic.contracts.errors import ConfigError
from spade_bdi_rl_worker.worlds import ENVIRONMENTS, load_world, make_env


@pytest.mark.parametrize("env_id", ENVIRONMENTS)
def test_an_episode_equals_that_of_the_environment(env_id: str) -> None:
    world, env = load_world(env_id), make_env(env_id)
    choose = random.Random(1)
    for seed in (0, 7, 2**32 - 1):
        observation, _ = env.reset(seed=seed)
        state, draws = world.begin(seed)
        assert state == observation
        for _ in range(world.limit):
            action = choose.randrange(world.actions)
            observation, reward, terminated, truncated, _ = env.step(action)
            state, got, is_end = world.step(state, action, draws)
            assert (state, got, is_end) == (observation, reward, terminated)
            if terminated or truncated:
                break
    env.close()


def test_an_environment_without_a_table_is_refused() -> None:
    with pytest.raises(ConfigError, match="env_id='CartPole-v1' has no transition table"):
        load_world("CartPole-v1")
