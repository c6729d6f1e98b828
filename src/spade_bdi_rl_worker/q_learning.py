"""Tabular Q-learning (Watkins, 1989), epsilon-greedy, over a world's transition table.

Every episode draws from generators of its own, seeded from the run's seed and the episode's number:
the table and the counters are the whole state, and a resumed run is the one that never stopped.
Truncation is bootstrapped. Between two greedy actions of equal value the choice is random.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from mosaic.contracts.parameters import param
from spade_bdi_rl_worker.worlds import World

# state, action, next state, reward, whether it ended there
Transition = tuple[int, int, int, float, bool]


@dataclass(frozen=True)
class Config:
    env_id: str = param("FrozenLake-v1", "Environment id.", group="run")
    total_timesteps: int = param(
        300_000, "Environment steps of the run.", unit="steps", range=(1, None), group="run"
    )
    learning_rate: float = param(0.5, "Learning rate at the start.", range=(0, 1))
    final_learning_rate: float = param(0.01, "Learning rate at the end.", range=(0, 1))
    gamma: float = param(0.99, "Discount factor.", range=(0, 1))
    start_e: float = param(1.0, "Share of random actions at the start.", range=(0, 1))
    end_e: float = param(0.1, "Share of random actions at the end.", range=(0, 1))
    exploration_fraction: float = param(
        0.5, "Share of the run over which both fall to their end.", range=(0, 1)
    )
    round_episodes: int = param(
        200, "Episodes that one intention to learn goes through.", unit="episodes", range=(1, None)
    )
    plan_visits: int = param(
        20,
        "Visits of a state after which its best action is a plan.",
        unit="visits",
        range=(1, None),
    )
    telemetry_every: int = param(
        50,
        "Of the episodes of a round, every so many is told step by step; 0: none.",
        unit="episodes",
        range=(0, None),
        group="telemetry",
    )


@dataclass
class Learner:
    """The table of action values, and how far it has come."""

    world: World
    config: Config
    seed: int
    total_steps: int
    values: list[list[float]] = field(default_factory=list)
    visits: list[int] = field(default_factory=list)
    steps: int = 0
    episodes: int = 0

    def __post_init__(self) -> None:
        self.values = self.values or [[0.0] * self.world.actions for _ in range(self.world.states)]
        self.visits = self.visits or [0] * self.world.states

    def episode_seed(self, episode: int) -> int:
        """Return the seed that the environment of an episode is reset with."""
        return (self.seed * 1_000_003 + episode) % 2**32

    def fall(self, begin: float, end: float) -> float:
        """Return a value on its way from one to the other, as the run goes."""
        span = self.config.exploration_fraction * self.total_steps
        share = min(1.0, self.steps / span) if span else 1.0
        return begin + (end - begin) * share

    def greedy(self, state: int) -> int:
        row = self.values[state]
        return row.index(max(row))

    def learn_episode(self, watch: Callable[[Transition], None] | None = None) -> tuple[float, int]:
        """Play and learn one episode; return its return and its length."""
        config, world, values, visits = self.config, self.world, self.values, self.visits
        table, gamma, actions = world.table, config.gamma, world.actions
        rate = self.fall(config.learning_rate, config.final_learning_rate)
        epsilon = self.fall(config.start_e, config.end_e)
        state, draws = world.begin(self.episode_seed(self.episodes))
        explore = random.Random(f"{self.seed}/{self.episodes}").random
        total, length = 0.0, 0
        while length < world.limit:
            length += 1
            row = values[state]
            visits[state] += 1
            if explore() < epsilon:
                action = int(explore() * actions)
            else:
                best = max(row)
                action = row.index(best)
                if row.count(best) > 1:
                    equal = [each for each, value in enumerate(row) if value == best]
                    action = equal[int(explore() * len(equal))]
            thresholds, outcomes = table[state][action]
            draw, place = next(draws), 0
            for threshold in thresholds:
                if threshold > draw:
                    break
                place += 1
            following, reward, is_end = outcomes[place if place < len(outcomes) else 0]
            target = reward if is_end else reward + gamma * max(values[following])
            row[action] += rate * (target - row[action])
            total += reward
            if watch is not None:
                watch((state, action, following, reward, is_end))
            if is_end:
                break
            state = following
        self.steps += length
        self.episodes += 1
        return total, length

    def to_json(self) -> dict[str, Any]:
        return {
            "values": self.values,
            "visits": self.visits,
            "steps": self.steps,
            "episodes": self.episodes,
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.values = [[float(value) for value in row] for row in state["values"]]
        self.visits = [int(count) for count in state["visits"]]
        self.steps, self.episodes = int(state["steps"]), int(state["episodes"])


def play(learner: Learner, seed: int) -> tuple[float, int, bool]:
    """Play one episode by the best known actions; return its return, length and end."""
    world = learner.world
    state, draws = world.begin(seed)
    total, length, is_end = 0.0, 0, False
    while length < world.limit and not is_end:
        length += 1
        state, reward, is_end = world.step(state, learner.greedy(state), draws)
        total += reward
    return total, length, is_end
