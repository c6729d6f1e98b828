"""Stacks from single pictures: every sampled transition is the one that was seen."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from gymnasium import spaces

from cleanrl_worker.envs.build import build_envs
from cleanrl_worker.envs.registry import resolve
from cleanrl_worker.envs.vector import Step
from cleanrl_worker.replay.choosing import build_replay
from cleanrl_worker.replay.frames import FrameReplay
from mosaic.contracts.errors import ConfigError

CPU = torch.device("cpu")
OBS, ACTIONS = spaces.Box(0, 255, (4, 5, 5), np.uint8), spaces.Discrete(3)
Array = np.ndarray[Any, Any]


class Seen(NamedTuple):
    """A transition as the agent saw it, with its whole stacks."""

    obs: Array
    action: int
    next_obs: Array
    terminated: bool
    is_last: bool  # before a truncation or a cut


class Player:
    """Random pictures, ends and cuts; each transition is known by its reward, its row's number."""

    def __init__(self, num_envs: int, capacity: int) -> None:
        self.rng = np.random.default_rng(4)
        self.num_envs = num_envs
        self.buffer = FrameReplay(capacity, OBS, ACTIONS, num_envs)
        self.seen: list[Seen] = []
        self.obs = self.first()

    def first(self) -> Array:
        return np.repeat(self.pictures()[:, None], 4, 1)

    def pictures(self) -> Array:
        return self.rng.integers(0, 256, (self.num_envs, 5, 5)).astype(np.uint8)

    def step(self, *, cut: bool = False) -> None:
        next_obs = np.concatenate((self.obs[:, 1:], self.pictures()[:, None]), 1)
        kind = self.rng.random(self.num_envs)
        terminated, truncated = kind < 0.1, kind > 0.9
        obs = next_obs
        if (terminated | truncated).any():
            obs = np.where((terminated | truncated)[:, None, None, None], self.first(), next_obs)
        actions = self.rng.integers(3, size=self.num_envs)
        for env in range(self.num_envs):
            is_last = bool(truncated[env]) or (cut and not terminated[env])
            row = self.obs[env], int(actions[env]), next_obs[env]
            self.seen.append(Seen(*row, bool(terminated[env]), is_last))
        rewards = np.arange(len(self.seen) - self.num_envs, len(self.seen), dtype=np.float32)
        self.buffer.add(self.obs, actions, Step(obs, rewards, terminated, truncated, next_obs, ()))
        self.obs = self.first() if cut else obs

    def check(self, size: int = 400) -> set[int]:
        """Compare a sample with what was seen; return the rows in it."""
        batch = self.buffer.sample(self.rng, size, CPU)
        rows = batch.rewards.long().tolist()
        for place, row in enumerate(rows):
            seen = self.seen[row]
            assert np.array_equal(batch.obs[place], seen.obs)
            assert batch.actions[place] == seen.action
            assert batch.ends[place] == seen.terminated
            if not seen.terminated:
                assert np.array_equal(batch.next_obs[place], seen.next_obs)
        return set(rows)

    def buildable(self) -> set[int]:
        """Return the rows of which all pictures are held, by looking at the stacks themselves."""
        total, count = len(self.seen), self.num_envs
        oldest = max(0, total - self.buffer.capacity)
        rows = set()
        for row in range(oldest, total):
            pictures = {picture.tobytes() for picture in self.seen[row].obs}  # as many as rows
            is_held = row - (len(pictures) - 1) * count >= oldest
            has_next = not self.seen[row].is_last or row >= total - count
            if is_held and has_next:
                rows.add(row)
        return rows


@pytest.mark.parametrize("num_envs", [1, 3])
@pytest.mark.parametrize("capacity", [40, 61, 1000])
def test_every_transition_is_the_one_that_was_seen(num_envs: int, capacity: int) -> None:
    player = Player(num_envs, capacity)
    for number in range(150):
        player.step(cut=number % 37 == 36)
        if number % 3 == 0:
            player.check(64)


@pytest.mark.parametrize("num_envs", [1, 3])
@pytest.mark.parametrize("capacity", [40, 61, 1000])
def test_all_that_can_be_built_are_drawn(num_envs: int, capacity: int) -> None:
    player = Player(num_envs, capacity)
    for number in range(100):
        player.step(cut=number % 37 == 36)

    rows: set[int] = set()
    for _ in range(20):
        rows |= player.check()

    assert rows == player.buildable()


def test_rows_of_another_number_of_environments_are_never_put_together_wrongly() -> None:
    """As after resuming with fewer of them: 30 rows of three, and then rows of two."""
    before, player = Player(3, 60), Player(2, 60)
    for _ in range(10):
        before.step()
    for name, column in player.buffer.columns.items():
        column[:] = before.buffer.columns[name]
    player.buffer.total, player.seen = before.buffer.total, before.seen
    for _ in range(10):
        player.step()
        rows = player.check()
        assert all(row >= 30 or player.seen[row].terminated for row in rows)


def test_the_newest_can_be_drawn_from_the_first_step_on() -> None:
    player = Player(2, 8)
    player.step()
    assert player.check() == {0, 1}
    assert len(player.buffer) == 2


def test_a_million_atari_pictures_take_less_than_eight_gigabytes() -> None:
    pictures = spaces.Box(0, 255, (4, 84, 84), np.uint8)
    assert FrameReplay.size_bytes(1_000_000, pictures, ACTIONS, 1) < 7.1e9


def test_its_memory_is_known_beforehand() -> None:
    buffer = FrameReplay(100, OBS, ACTIONS, 2)
    held = sum(column.nbytes for column in buffer.columns.values())
    assert FrameReplay.size_bytes(100, OBS, ACTIONS, 2) == held


def test_a_buffer_that_holds_no_stack_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"buffer_size=11 .* Use at least 12\."):
        FrameReplay.size_bytes(11, OBS, ACTIONS, 3)


def test_observations_that_are_no_stacks_are_refused() -> None:
    player = Player(1, 20)
    player.obs = player.rng.integers(0, 256, (1, 4, 5, 5)).astype(np.uint8)
    with pytest.raises(ConfigError, match="one picture repeated"):
        player.step()


def test_breakouts_stacks_come_back_across_lives_and_a_cut() -> None:
    envs = build_envs(resolve("BreakoutNoFrameskip-v4"), 2)
    buffer = build_replay(300, envs)
    rng = np.random.default_rng(2)
    seen: dict[float, tuple[Array, Array]] = {}
    obs = envs.reset(1)
    for number in range(120):
        if number == 90:
            obs = envs.reset(2)
        actions = rng.integers(4, size=2)
        step = envs.step(actions)
        numbers = np.array([2 * number, 2 * number + 1], np.float32)
        seen.update(zip(numbers.tolist(), zip(obs, step.next_obs, strict=True), strict=True))
        buffer.add(obs, actions, step._replace(rewards=numbers))
        obs = step.obs
    envs.close()

    batch = buffer.sample(rng, 500, CPU)

    assert isinstance(buffer, FrameReplay)
    assert batch.ends.any()
    before_cut = (batch.rewards == 178) | (batch.rewards == 179)
    assert batch.ends[before_cut].all()
    for place, number in enumerate(batch.rewards.tolist()):
        assert np.array_equal(batch.obs[place], seen[number][0])
        if not batch.ends[place]:
            assert np.array_equal(batch.next_obs[place], seen[number][1])
