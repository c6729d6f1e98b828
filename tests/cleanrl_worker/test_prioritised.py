"""Windows of several steps, drawn by priority, against a walk over what was played."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from gymnasium import spaces

from cleanrl_worker.envs.vector import Step
from cleanrl_worker.replay.episodes import EpisodeReplay, EpisodeRows
from cleanrl_worker.replay.frames import FrameReplay
from cleanrl_worker.replay.prioritised import PrioritisedReplay, Windows, check_window
from mosaic.contracts.errors import ConfigError

CPU = torch.device("cpu")
GAMMA = 0.9
ACTIONS = spaces.Discrete(3)
SPACES = {
    "numbers": spaces.Box(-1, 1, (2,), np.float32),
    "pictures": spaces.Box(0, 255, (4, 5, 5), np.uint8),
}
Array = np.ndarray[Any, Any]
EVERY_KIND = pytest.mark.parametrize("kind", SPACES)


class Played(NamedTuple):
    """One row; `breaks` where its episode was truncated or cut after it."""

    obs: Array
    action: int
    reward: float
    next_obs: Array
    terminated: bool
    breaks: bool


class Expected(NamedTuple):
    total: float
    next_obs: Array | None  # None after a termination
    discount: float


class Player:
    """Plays episodes of random length, end and reward into a prioritised replay."""

    def __init__(self, kind: str, num_envs: int, capacity: int, n_step: int) -> None:
        self.rng = np.random.default_rng(4)
        self.kind, self.num_envs, self.n_step = kind, num_envs, n_step
        self.store = make_store(kind, num_envs, capacity)
        self.replay = make_replay(self.store, n_step)
        self.played: list[Played] = []
        self.obs = self.first()

    def seen(self) -> Array:
        shape = (2,) if self.kind == "numbers" else (5, 5)
        return self.rng.integers(0, 256, (self.num_envs, *shape))

    def first(self) -> Array:
        if self.kind == "numbers":
            return self.seen().astype(np.float32)
        return np.repeat(self.seen()[:, None], 4, 1).astype(np.uint8)

    def after(self) -> Array:
        if self.kind == "numbers":
            return self.seen().astype(np.float32)
        return np.concatenate((self.obs[:, 1:], self.seen()[:, None]), 1).astype(np.uint8)

    def step(self, *, cut: bool = False) -> None:
        next_obs = self.after()
        fate = self.rng.random(self.num_envs)
        terminated, truncated = fate < 0.1, fate > 0.9
        ended = (terminated | truncated).reshape(-1, *[1] * (next_obs.ndim - 1))
        obs = np.where(ended, self.first(), next_obs) if ended.any() else next_obs
        actions = self.rng.integers(3, size=self.num_envs)
        rewards = self.rng.normal(size=self.num_envs).astype(np.float32)
        for env in range(self.num_envs):
            ends = bool(terminated[env])
            breaks = not ends and (bool(truncated[env]) or cut)
            row = self.obs[env], int(actions[env]), float(rewards[env]), next_obs[env]
            self.played.append(Played(*row, ends, breaks))
        self.replay.add(self.obs, actions, Step(obs, rewards, terminated, truncated, next_obs, ()))
        self.obs = self.first() if cut else obs

    def play(self, steps: int) -> None:
        for number in range(steps):
            self.step(cut=number % 17 == 16)

    def expect(self, row: int) -> Expected | None:
        """Walk from a row on, one step at a time; None where there is no step to learn from."""
        total, discount = 0.0, 1.0
        for number in range(self.n_step):
            here = self.played[row + number * self.num_envs]
            if here.breaks and self.kind == "pictures":  # what came after it is not stored
                return Expected(total, here.obs, discount) if number else None
            total += discount * here.reward
            discount *= GAMMA
            if here.terminated:
                return Expected(total, None, 0.0)
            if here.breaks:
                break
        return Expected(total, here.next_obs, discount)

    def drawable(self) -> set[int]:
        played, oldest = len(self.played), max(0, len(self.played) - self.store.capacity)
        reach = 3 if self.kind == "pictures" and oldest else 0
        rows = range(oldest + reach * self.num_envs, played - self.n_step * self.num_envs)
        return {row for row in rows if self.expect(row) is not None}

    def rows_at(self, places: Array) -> list[int]:
        rows = range(max(0, len(self.played) - self.store.capacity), len(self.played))
        held = {row % self.store.capacity: row for row in rows}
        return [held[place] for place in places.tolist()]

    def check(self, size: int = 100) -> set[int]:
        """Compare a sample with what was played; return the rows in it."""
        batch, places = self.replay.sample(self.rng, size, 0.5, CPU)
        rows = self.rows_at(places)
        for place, row in enumerate(rows):
            self.compare(batch, place, row)
        return set(rows)

    def compare(self, batch: Windows, place: int, row: int) -> None:
        expected = self.expect(row)
        assert expected is not None
        assert np.array_equal(batch.obs[place], self.played[row].obs)
        assert batch.actions[place] == self.played[row].action
        assert abs(float(batch.returns[place]) - expected.total) < 1e-5
        assert abs(float(batch.discounts[place]) - expected.discount) < 1e-5
        if expected.next_obs is not None:
            assert np.array_equal(batch.next_obs[place], expected.next_obs)


def make_store(kind: str, num_envs: int, capacity: int) -> EpisodeRows:
    store = EpisodeReplay if kind == "numbers" else FrameReplay
    return store(capacity, SPACES[kind], ACTIONS, num_envs)


def make_replay(store: EpisodeRows, n_step: int, alpha: float = 0.6) -> PrioritisedReplay:
    return PrioritisedReplay(store, n_step=n_step, gamma=GAMMA, alpha=alpha, eps=0.01)


@EVERY_KIND
@pytest.mark.parametrize("num_envs", [1, 3])
@pytest.mark.parametrize("capacity", [40, 61, 1000])
@pytest.mark.parametrize("n_step", [1, 3, 5])
def test_every_window_is_the_one_that_was_played(
    kind: str, num_envs: int, capacity: int, n_step: int
) -> None:
    player = Player(kind, num_envs, capacity, n_step)
    for number in range(70):
        player.step(cut=number % 17 == 16)
        if number % 10 == 9 and player.drawable():
            # All weigh the same, so that twice as many draws miss none.
            size = 2 * len(player.drawable())
            assert player.check(size) == player.drawable()


@EVERY_KIND
def test_nothing_can_be_drawn_before_a_window_is_complete(kind: str) -> None:
    player = Player(kind, 2, 40, 3)
    for _ in range(3):
        player.step()
        assert player.replay.is_empty
    for _ in range(10):
        player.step()
        assert player.replay.is_empty == (not player.drawable())


@EVERY_KIND
def test_rows_are_drawn_by_priority_and_the_loss_is_corrected_for_it(kind: str) -> None:
    player = Player(kind, 2, 61, 3)
    player.play(50)
    rows = sorted(player.drawable())
    places = np.array(rows) % 61
    errors = np.random.default_rng(1).exponential(size=len(rows)).astype(np.float32)
    player.replay.rate(places, torch.from_numpy(errors))
    powers = {row: (float(e) + 0.01) ** 0.6 for row, e in zip(rows, errors, strict=True)}
    total, draws = sum(powers.values()), 20_000

    batch, drawn = player.replay.sample(player.rng, draws, 0.7, CPU)

    found = player.rows_at(drawn)
    for row in rows:
        assert found.count(row) == pytest.approx(draws * powers[row] / total, abs=2)
    corrections = np.array([(len(rows) * powers[row] / total) ** -0.7 for row in found])
    np.testing.assert_allclose(batch.weights, corrections / corrections.max(), rtol=1e-5)


@EVERY_KIND
def test_new_rows_come_with_the_highest_weight_so_far(kind: str) -> None:
    player = Player(kind, 1, 200, 2)
    player.play(30)
    rows = sorted(player.drawable())
    errors = torch.full((len(rows),), 0.001)
    errors[0] = 500.0
    player.replay.rate(np.array(rows), errors)
    before = set(rows)
    player.play(15)
    weights = player.replay.state_dict()["weights"]

    assert player.drawable() - before
    for row in player.drawable() - before:
        assert weights[row] == weights[rows[0]] == pytest.approx(500.01**0.6)


def restored(player: Player, num_envs: int, *, with_rows: bool = True) -> Player:
    """Return a player that goes on from another one's checkpoint, as after a cut."""
    other = Player(player.kind, num_envs, player.store.capacity, player.n_step)
    other.replay.load_state_dict(player.replay.state_dict())
    if with_rows:
        for name, column in other.store.columns.items():
            column[:] = player.store.columns[name]
        other.store.total, other.played = player.store.total, list(player.played)
    return other


@EVERY_KIND
@pytest.mark.parametrize("capacity", [61, 1000])
def test_a_restored_one_goes_on_with_the_very_draws(kind: str, capacity: int) -> None:
    player = Player(kind, 2, capacity, 3)
    for _ in range(60):
        player.step()
        if not player.replay.is_empty:
            _, places = player.replay.sample(player.rng, 8, 0.5, CPU)
            player.replay.rate(places, torch.from_numpy(player.rng.exponential(size=8)))
    player.step(cut=True)
    twin = restored(player, 2)
    twin.rng.bit_generator.state = player.rng.bit_generator.state
    twin.obs = player.obs

    for _ in range(60):
        found = []
        for one in (player, twin):
            one.step()
            _, places = one.replay.sample(one.rng, 8, 0.5, CPU)
            one.replay.rate(places, torch.from_numpy(one.rng.exponential(size=8)))
            found.append(places.tolist())
        assert found[0] == found[1]
    states = [one.replay.state_dict() for one in (player, twin)]
    assert np.array_equal(states[0]["weights"], states[1]["weights"])
    assert states[0]["highest"] == states[1]["highest"]


@EVERY_KIND
def test_priorities_without_their_rows_count_for_nothing(kind: str) -> None:
    player = Player(kind, 2, 60, 3)
    player.play(40)
    empty = restored(player, 2, with_rows=False)
    for _ in range(3):
        empty.step()
        assert empty.replay.is_empty
    empty.play(10)
    assert empty.check() == empty.drawable()


@EVERY_KIND
@pytest.mark.parametrize("counts", [(3, 2), (2, 3)], ids=["fewer", "more"])
def test_rows_of_other_environments_are_never_put_together(
    kind: str, counts: tuple[int, int]
) -> None:
    before = Player(kind, counts[0], 60, 3)
    for _ in range(12):
        before.step()
    before.step(cut=True)
    player, known = restored(before, counts[1]), len(before.played)
    for _ in range(40):
        player.step()
        if player.replay.is_empty:
            continue
        batch, places = player.replay.sample(player.rng, 100, 0.5, CPU)
        for place, row in enumerate(player.rows_at(places)):
            if row >= known:
                player.compare(batch, place, row)
                continue
            played = player.played[row]  # one step alone
            discount = 0.0 if played.terminated else GAMMA
            assert abs(float(batch.returns[place]) - played.reward) < 1e-5
            assert abs(float(batch.discounts[place]) - discount) < 1e-5
            assert np.array_equal(batch.obs[place], played.obs)
            assert played.terminated or np.array_equal(batch.next_obs[place], played.next_obs)


def test_a_buffer_that_holds_no_window_is_refused() -> None:
    check_window(14, 2, 3, 3)
    with pytest.raises(ConfigError, match=r"buffer_size=13 .*n_step=3 .* Use at least 14\."):
        check_window(13, 2, 3, 3)
