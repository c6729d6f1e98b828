"""Atari games: Gymnasium's frames, CleanRL's lives and rewards, scores of whole games."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from tests.cleanrl_worker.envs.atari_reference import make_reference

from cleanrl_worker.envs.build import build_envs
from cleanrl_worker.envs.registry import ResolvedEnv, make, resolve
from cleanrl_worker.envs.sync import SyncEnvs
from cleanrl_worker.envs.vector import EnvBatch, Episode, Step
from mosaic.contracts.errors import ConfigError

BREAKOUT = "BreakoutNoFrameskip-v4"
SHORT_FRAMES = 400


def play(envs: EnvBatch, steps: int, seed: int = 3) -> list[Step]:
    assert isinstance(envs.action_space, gym.spaces.Discrete)
    rng = np.random.default_rng(8)
    envs.reset(seed)
    size = envs.num_envs
    return [envs.step(rng.integers(envs.action_space.n, size=size)) for _ in range(steps)]


@pytest.fixture
def games() -> Iterator[EnvBatch]:
    envs = build_envs(resolve(BREAKOUT), 2)
    yield envs
    envs.close()


@pytest.fixture
def short_games() -> Iterator[ResolvedEnv]:
    """An id of which games are truncated, in a step's second frame."""
    resolve(BREAKOUT)
    spec = gym.registry[BREAKOUT]
    limit = {**spec.kwargs, "max_num_frames_per_episode": SHORT_FRAMES}
    gym.register("TruncatedBreakout-v0", spec.entry_point, kwargs=limit)
    yield resolve("TruncatedBreakout-v0")
    del gym.registry["TruncatedBreakout-v0"]


@pytest.mark.parametrize("game", ["Breakout", "Pong"])
def test_frames_rewards_and_ends_are_those_of_gymnasiums_wrappers(game: str) -> None:
    envs = build_envs(resolve(f"{game}NoFrameskip-v4"), 1)
    theirs = make_reference(game)
    obs, expected = envs.reset(5), theirs.reset(seed=5)[0]
    rng = np.random.default_rng(1)
    score, ends, scores, reported = 0.0, 0, [], []
    for _ in range(300):
        assert np.array_equal(obs[0], expected)
        action = int(rng.integers(envs.action_space.n))  # type: ignore[attr-defined]
        step = envs.step(np.array([action]))
        expected, points, terminated, truncated, info = theirs.step(action)
        assert step.rewards[0] == np.sign(points)
        assert (step.terminated[0], step.truncated[0]) == (terminated, truncated)
        score += float(points)
        reported += [episode.total_reward for episode in step.episodes]
        if not info["is_over"]:  # a frame that is cut short shows an old screen there
            assert np.array_equal(step.next_obs[0], expected)
        if terminated:
            ends += 1
            expected = theirs.reset()[0]
        if info["is_over"]:
            scores.append(score)
            score = 0.0
        obs = step.obs
    assert reported == scores
    assert ends >= (1 if game == "Breakout" else 0)
    envs.close()
    theirs.close()


def test_observations_are_four_pictures_of_bytes(games: EnvBatch) -> None:
    assert games.observation_space == gym.spaces.Box(0, 255, (4, 84, 84), np.uint8)
    assert games.max_episode_steps == 27_000
    assert games.reset(1).dtype == np.uint8


def test_a_lost_life_ends_an_episode_and_a_game_is_reported_with_its_score(
    games: EnvBatch,
) -> None:
    steps = play(games, 400)
    lives = sum(int(step.terminated.sum()) for step in steps)
    reported = [episode for step in steps for episode in step.episodes]

    assert len(reported) >= 2
    assert 5 * len(reported) <= lives <= 5 * (len(reported) + 2)
    for env in range(2):
        (last_end,) = [n for n, step in enumerate(steps) if has_game(step, env)][:1]
        (first,) = [episode for episode in steps[last_end].episodes if episode.env == env]
        assert first.length == last_end + 1


def has_game(step: Step, env: int) -> bool:
    return any(episode.env == env for episode in step.episodes)


def test_no_stack_crosses_a_reset(games: EnvBatch) -> None:
    ended = 0
    for step in play(games, 200):
        for env in (step.terminated | step.truncated).nonzero()[0]:
            ended += 1
            pictures = step.obs[env]
            assert all(np.array_equal(picture, pictures[0]) for picture in pictures)
            assert not np.array_equal(step.next_obs[env], pictures)
    assert ended


def assert_same(ones: list[Step], others: list[Step]) -> None:
    for one, other in zip(ones, others, strict=True):
        assert list(one.episodes) == list(other.episodes)
        assert all(np.array_equal(a, b) for a, b in zip(one[:5], other[:5], strict=True))


def test_the_seed_decides_and_a_rebuilt_batch_is_a_new_one(games: EnvBatch) -> None:
    first = play(games, 150)
    again = play(games, 150)
    games.rebuild()
    rebuilt = play(games, 150)

    assert_same(first, again)
    assert_same(first, rebuilt)


def test_another_seed_gives_another_game() -> None:
    """Not in Breakout, where nothing happens before FIRE, and nothing is random after it."""
    envs = build_envs(resolve("SpaceInvadersNoFrameskip-v4"), 2)
    first, second = play(envs, 20, seed=1), play(envs, 20, seed=3)
    assert any(not np.array_equal(a.obs, b.obs) for a, b in zip(first, second, strict=True))
    envs.close()


def test_processes_play_the_same(games: EnvBatch) -> None:
    envs = build_envs(resolve(BREAKOUT), 2, backend="async", cpus=2)
    assert_same(play(games, 150), play(envs, 150))
    envs.close()


@pytest.mark.parametrize(
    ("env_id", "stickiness"),
    [(BREAKOUT, 0.0), ("Breakout-v5", 0.0), ("ALE/Breakout-v5", 0.25)],
)
def test_the_id_decides_whether_actions_stick(env_id: str, stickiness: float) -> None:
    env = resolve(env_id)
    game: Any = make(env)
    assert (env.id, env.family, env.notes) == (env_id, "atari", ())
    assert game._ale.getFloat("repeat_action_probability") == stickiness
    game.reset(seed=1)
    before = game._ale.getEpisodeFrameNumber()
    game.step(0)
    assert game._ale.getEpisodeFrameNumber() == before + 4
    game.close()


def test_a_game_of_gymnasiums_keeps_its_name() -> None:
    assert resolve("Blackjack-v1").notes == ()
    with pytest.raises(ConfigError, match="Blackjack-v5"):
        resolve("Blackjack-v5")


def test_an_evaluation_plays_whole_games_for_points(games: EnvBatch) -> None:
    """The same actions as one environment of a batch: the same game, without its inner ends."""
    rng = np.random.default_rng(0)
    actions = rng.integers(4, size=1000)
    single = build_envs(resolve(BREAKOUT), 1)
    single.reset(7)
    reported: list[Episode] = []
    for action in actions:
        reported += single.step(np.array([action])).episodes
        if reported:
            break
    whole = make(resolve(BREAKOUT), whole_games=True)
    whole.reset(seed=7)
    total, length, terminated = 0.0, 0, False
    while not terminated:
        _, points, terminated, _, _ = whole.step(int(actions[length]))
        total += float(points)
        length += 1
    assert (total, length) == (reported[0].total_reward, reported[0].length)
    single.close()
    whole.close()


def test_the_frame_limit_truncates_and_reports_the_game(short_games: ResolvedEnv) -> None:
    envs = build_envs(short_games, 1)
    assert isinstance(envs, SyncEnvs)
    assert envs.max_episode_steps == SHORT_FRAMES // 4
    ends = [step for step in play(envs, 250) if step.truncated[0]]
    assert len(ends) >= 2
    assert all(len(step.episodes) == 1 for step in ends)
    envs.close()


def test_a_training_can_be_filmed(tmp_path: Path) -> None:
    envs = build_envs(resolve(BREAKOUT), 1, video_dir=tmp_path)
    play(envs, 60)
    envs.close()
    assert list(tmp_path.glob("*.mp4"))
