"""Games of several players: who sees what, who is rewarded, and what an end means for whom."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import pytest
from tests.contract.short_games import SHORT_PONG, STEPS

from cleanrl_worker.envs import registry
from cleanrl_worker.envs.backends import choose_backend
from cleanrl_worker.envs.build import build_envs
from cleanrl_worker.envs.players import PlayerEnvs, PlayersGame, load_game
from cleanrl_worker.envs.registry import resolve
from cleanrl_worker.evaluation import Rules, evaluate
from cleanrl_worker.evaluation_env import Stage
from mosaic.contracts.errors import ConfigError, DependencyMissing

pytest.importorskip("multi_agent_ale_py")
NOOP = 0


def play(envs: Any, steps: int, seed: int = 1) -> list[Any]:
    actions = np.random.default_rng(3).integers(envs.action_space.n, size=(steps, envs.num_envs))
    return [envs.reset(seed), *map(envs.step, actions)]


def test_each_player_sees_the_pictures_and_which_one_it_is() -> None:
    envs = build_envs(resolve("pong_v3"), 4)
    obs = envs.reset(1)
    assert obs.shape == (4, 6, 84, 84)
    assert envs.observation_space.shape == (6, 84, 84)
    assert np.array_equal(obs[0, :4], obs[1, :4])
    assert [row[4:].mean((1, 2)).tolist() for row in obs] == [[255, 0], [0, 255]] * 2
    envs.close()


def test_screens_and_rewards_are_those_of_supersuit() -> None:
    supersuit = pytest.importorskip("supersuit")
    env = supersuit.frame_skip_v0(supersuit.max_observation_v0(load_game("pong_v3"), 2), 4)
    env = supersuit.color_reduction_v0(supersuit.clip_reward_v0(env, -1, 1), mode="B")
    seen, _ = env.reset(seed=1)
    envs = build_envs(resolve("pong_v3"), 2)
    pictures = [envs.reset(1)[0, 3]]
    first, second = env.possible_agents
    assert np.array_equal(_small(seen[first]), pictures[0])
    points = 0.0
    for pair in np.random.default_rng(3).integers(envs.action_space.n, size=(150, 2)):
        seen, rewards, *_ = env.step({first: pair[0], second: pair[1]})
        step = envs.step(pair)
        pictures = [*pictures[-3:], _small(seen[second])]
        assert np.array_equal(pictures, step.obs[1, 4 - len(pictures) : 4])
        assert [rewards[first], rewards[second]] == step.rewards.tolist()
        points += abs(rewards[first])
    assert points > 0
    envs.close()


def _small(screen: np.ndarray) -> np.ndarray:
    return cv2.resize(screen, (84, 84), interpolation=cv2.INTER_AREA)


def test_what_one_wins_the_other_loses_and_both_are_told() -> None:
    envs = build_envs(resolve(SHORT_PONG), 4)
    steps = play(envs, 2 * STEPS + 5)
    for step in steps[1:]:
        assert np.array_equal(step.rewards[::2], -step.rewards[1::2])
    ended = [step for step in steps[1:] if step.episodes]
    assert len(ended) == 2
    for step in ended:
        assert step.truncated.all()
        assert not step.terminated.any()
        assert [(each.env, each.player) for each in step.episodes] == [
            (0, 0),
            (1, 1),
            (2, 0),
            (3, 1),
        ]
        assert {each.length for each in step.episodes} == {STEPS}
        assert step.next_obs is not step.obs
    envs.close()


def test_a_game_that_ends_for_one_is_cut_for_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    game = PlayersGame("pong_v3")
    inner = game._game
    game.reset(seed=1)
    real = inner.step

    def step(actions: Any) -> Any:
        seen, rewards, over, cut, info = real(actions)
        return seen, rewards, {**over, "second_0": True}, cut, info

    monkeypatch.setattr(inner, "step", step)
    _, _, terminated, truncated, _ = game.step(np.array([NOOP, NOOP]))
    assert terminated.tolist() == [False, True]
    assert truncated.tolist() == [True, False]


def test_the_seed_decides_and_a_rebuilt_batch_is_a_new_one() -> None:
    envs = build_envs(resolve(SHORT_PONG), 2)
    first = play(envs, 50)
    envs.rebuild()
    again = play(envs, 50)
    assert np.array_equal(first[-1].obs, again[-1].obs)
    envs.close()


def test_a_number_of_players_that_fills_no_game_is_refused() -> None:
    with pytest.raises(ConfigError) as error:
        PlayerEnvs(resolve("pong_v3"), 5)
    assert error.value.message == (
        "num_envs=5 does not fill games of 2: it counts the players of env_id='pong_v3'. "
        "Use 4 or 6."
    )


def test_names_that_pettingzoo_does_not_have_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"no Atari game of PettingZoo.*pong_v3"):
        resolve("pong_v2")


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry.Family, "is_installed", lambda self: False)
    with pytest.raises(DependencyMissing) as error:
        resolve("pong_v3")
    assert "mosaic-rl[pettingzoo]" in error.value.one_line()


def test_other_backends_do_not_have_them() -> None:
    env = resolve("pong_v3")
    assert choose_backend(env, 16, "auto", cpus=16) == "sync"
    with pytest.raises(ConfigError, match="several players"):
        choose_backend(env, 16, "async")


def test_an_evaluation_plays_all_sides_and_reports_the_first() -> None:
    stage = Stage(resolve(SHORT_PONG))
    rows: list[int] = []

    def stand_still(obs: np.ndarray, rng: Any) -> np.ndarray:
        rows.append(len(obs))
        return np.zeros(len(obs), np.int64)

    (episode,) = evaluate(stand_still, stage, range(1), Rules(seed=1))
    stage.close()
    assert set(rows) == {2}
    assert episode.length == STEPS
    assert episode.is_truncated


def test_the_screen_is_shown() -> None:
    game = PlayersGame("pong_v3", render_mode="rgb_array")
    envs = PlayerEnvs(resolve("pong_v3"), 2, lambda index: game)
    envs.reset(1)
    assert envs.picture(1, 100).shape == (100, 76, 3)
    envs.close()
