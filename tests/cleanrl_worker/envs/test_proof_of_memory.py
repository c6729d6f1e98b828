"""ProofofMemory-v0: what it shows, what it pays, and what can be won without a memory."""

from __future__ import annotations

import itertools

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from cleanrl_worker.envs.proof_of_memory import CELLS, ProofOfMemory
from cleanrl_worker.envs.registry import make, resolve

LEFT, RIGHT = 0, 1


def play(action_of_side: dict[float, int], seed: int) -> tuple[list[np.ndarray], list[float]]:
    """Go to one end all the time, chosen by what is seen first."""
    env = ProofOfMemory()
    seen, rewards = [env.reset(seed=seed)[0]], []
    ended = False
    while not ended:
        obs, reward, ended, _, _ = env.step(action_of_side[float(seen[0][2])])
        seen.append(obs)
        rewards.append(reward)
    return seen, rewards


@pytest.mark.parametrize("seed", range(8))
def test_the_good_end_pays_and_is_shown_for_three_observations(seed: int) -> None:
    seen, rewards = play({1.0: RIGHT, -1.0: LEFT}, seed)
    shown, hidden = seen[:3], seen[3:]
    assert all(abs(obs[0]) == abs(obs[2]) == 1 and obs[0] == -obs[2] for obs in shown)
    assert len({obs[1] for obs in shown}) == 1, "the agent is held"
    assert not any(obs[0] or obs[2] for obs in hidden)
    steps = len(rewards) - 2
    assert steps == CELLS - round(CELLS * float(seen[0][1] * seen[0][2]))
    assert sum(rewards) == pytest.approx(1.6 - 0.1 * (steps - 1))


def test_the_bad_end_costs_as_much() -> None:
    _, rewards = play({1.0: LEFT, -1.0: RIGHT}, seed=1)
    assert rewards[-1] == pytest.approx(-1.6)


def test_the_best_gets_one_point_two() -> None:
    best = [sum(play({1.0: RIGHT, -1.0: LEFT}, seed)[1]) for seed in range(400)]
    assert np.mean(best) == pytest.approx(1.2, abs=0.03)


def forgetful(directions: tuple[int, ...], start: int, good_side: int) -> float:
    """Return what is won by going where the ends show at first, then where the place alone says."""
    env = ProofOfMemory()
    env.reset(seed=1)
    env._cell, env._good_side = start, good_side
    actions = [RIGHT if good_side > 0 else LEFT] * 3
    total, ended = 0.0, False
    for number in range(16):
        place = env._cell + CELLS - 1
        action = actions[number] if number < len(actions) else directions[place]
        _, reward, ended, _, _ = env.step(action)
        total += reward
        if ended:
            break
    return total


def test_without_a_memory_little_is_won() -> None:
    starts = [(start, side) for start in range(-2, 3) for side in (-1, 1)]
    means = [
        np.mean([forgetful((LEFT,) * 3 + middle + (RIGHT,) * 3, *each) for each in starts])
        for middle in itertools.product((LEFT, RIGHT), repeat=3)
    ]
    assert max(means) == pytest.approx(0.28)


def test_it_is_an_environment_of_gymnasium_with_sixteen_steps() -> None:
    env = make(resolve("ProofofMemory-v0"), render_mode="rgb_array")
    assert env.spec is not None
    assert env.spec.max_episode_steps == 16
    check_env(env.unwrapped, skip_render_check=True)
    env.reset(seed=1)
    picture = env.render()
    assert isinstance(picture, np.ndarray)
    assert picture.shape == (24, 264, 3)
    env.close()


def test_the_seed_decides() -> None:
    first, again = (gym.make("ProofofMemory-v0").reset(seed=5)[0] for _ in range(2))
    assert np.array_equal(first, again)
