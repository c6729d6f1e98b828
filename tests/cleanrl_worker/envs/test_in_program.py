"""Games inside a program are the games outside it."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from tests.contract.short_games import SHORT_GAME

from cleanrl_worker.envs.in_program import Games, HostGames, PoolInside, Stepped
from cleanrl_worker.envs.native_atari import NativeGames
from cleanrl_worker.envs.registry import resolve
from cleanrl_worker.on_device.advantages import repeat

STEPS = 90  # two games and a little more of the third


def play(games: Games, actions: np.ndarray) -> Stepped:
    """Return what the games gave, step by step, in one program."""
    program = jax.jit(lambda handle, rows: repeat(games.step_inside, handle, rows, scan=True)[1])
    return jax.device_get(program(games.handle, jnp.asarray(actions)))


def some_actions(num_envs: int) -> np.ndarray:
    return np.random.default_rng(1).integers(0, 4, (STEPS, num_envs)).astype(np.int32)


def test_a_call_back_gives_what_the_batch_gives() -> None:
    inside, outside = (NativeGames(resolve(SHORT_GAME), 2) for _ in range(2))
    actions = some_actions(2)
    first = outside.reset(5)
    assert (inside.reset(5) == first).all()
    games = HostGames(inside)

    found = play(games, actions)

    episodes = []
    for index, row in enumerate(actions):
        step = outside.step(row)
        episodes += step.episodes
        assert (found.obs[index] == step.obs).all()
        assert (found.next_obs[index] == step.next_obs).all()
        assert found.rewards[index].tolist() == step.rewards.tolist()
        assert found.terminated[index].tolist() == step.terminated.tolist()
        assert found.truncated[index].tolist() == step.truncated.tolist()
    assert episodes
    assert games.episodes(found.points, found.is_over, np.zeros_like(found.is_over)) == episodes
    assert games.episodes(found.points, found.is_over, np.zeros_like(found.is_over)) == []


def test_envpools_games_are_the_same_after_the_same_seed_and_counted_whole() -> None:
    games = PoolInside(resolve(SHORT_GAME), 2)
    actions = some_actions(2)
    games.reset(5)
    first = play(games, actions)
    games.reset(6)
    other = play(games, actions)
    games.reset(5)
    again = play(games, actions)

    assert all((one == two).all() for one, two in zip(first, again, strict=True))
    assert (first.obs != other.obs).any()
    ends = first.terminated | first.truncated
    is_reset = np.vstack((np.zeros((1, 2), np.bool_), ends[:-1]))
    episodes = games.episodes(first.points, first.is_over, is_reset)
    games.close()
    assert episodes
    assert len(episodes) == int(first.is_over.sum())
    assert all(episode.length <= 40 for episode in episodes)
    assert sum(episode.total_reward for episode in episodes) <= first.points.sum()
    # What only resets a game pays nothing.
    assert (first.rewards[is_reset] == 0).all()
