"""What the agent can do with its world: play an episode step by step, and learn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from spade_bdi_rl_worker.q_learning import Learner, Transition


class Teller(Protocol):
    """Where steps and episodes are told."""

    def step(self, episode_index: int, step_index: int, seed: int | None, **fields: Any) -> None:
        """Tell a step."""

    def episode(self, episode_index: int, **fields: Any) -> None:
        """Tell an episode."""


class Skill:
    """The world as the agent meets it. A goal without a plan is learned by Q-learning."""

    def __init__(self, learner: Learner, teller: Teller, *, may_learn: bool, seed: int) -> None:
        self.learner = learner
        self.state = 0
        self.is_over = True
        self.returns: list[float] = []  # of learning episodes, since they were taken
        self.lengths: list[int] = []
        self.last: dict[str, Any] = {}
        self._teller = teller
        self._may_learn = may_learn
        self._seed = seed
        self._number = 0
        self._draws: Iterator[float] = iter(())
        self._episode_seed = 0
        self._step = 0
        self._total = 0.0
        self._terminated = False

    # An episode that the agent plays

    def begin(self, number: int) -> None:
        self._number = number
        learner = self.learner
        self._episode_seed = (
            learner.episode_seed(number) if self._may_learn else (self._seed + number) % 2**32
        )
        self.state, self._draws = learner.world.begin(self._episode_seed)
        self._step, self._total = 0, 0.0
        self.is_over = self._terminated = False

    def has_plan(self) -> bool:
        return self.learner.visits[self.state] >= self.learner.config.plan_visits

    def best_action(self) -> int:
        return self.learner.greedy(self.state)

    def act(self, action: int, mind: Mapping[str, Any]) -> None:
        """Act, and tell what the agent had in mind."""
        world = self.learner.world
        self.state, reward, self._terminated = world.step(self.state, action, self._draws)
        self._total += reward
        truncated = not self._terminated and self._step + 1 >= world.limit
        self.is_over = self._terminated or truncated
        self._teller.step(
            self._number,
            self._step,
            self._episode_seed,
            action=action,
            observation=self.state,
            reward=reward,
            terminated=self._terminated,
            truncated=truncated,
            info=dict(mind),
        )
        self._step += 1

    def conclude(self) -> None:
        self.last = {"total_reward": self._total, "steps": self._step, "seed": self._episode_seed}
        self._teller.episode(
            self._number,
            total_reward=self._total,
            steps=self._step,
            terminated=self._terminated,
            truncated=not self._terminated,
            seed=self._episode_seed,
            metadata={"driven_by": "plans"},
        )

    # Learning

    def learn_round(self) -> None:
        """Go through a round of episodes; where learning is not allowed, nothing happens."""
        learner = self.learner
        if not self._may_learn:
            return
        every = learner.config.telemetry_every
        for _ in range(learner.config.round_episodes):
            if learner.steps >= learner.total_steps:
                return
            is_told = bool(every) and learner.episodes % every == 0
            total, length = self._learn_told() if is_told else learner.learn_episode()
            self.returns.append(total)
            self.lengths.append(length)

    def _learn_told(self) -> tuple[float, int]:
        """Learn one episode, and tell every step of it."""
        learner, seen = self.learner, list[Transition]()
        number = learner.episodes
        seed = learner.episode_seed(number)
        total, length = learner.learn_episode(seen.append)
        terminated = seen[-1][4]
        for index, (_, action, following, reward, is_end) in enumerate(seen):
            self._teller.step(
                number,
                index,
                seed,
                action=action,
                observation=following,
                reward=reward,
                terminated=is_end,
                truncated=not terminated and index == length - 1,
                info={},
            )
        self._teller.episode(
            number,
            total_reward=total,
            steps=length,
            terminated=terminated,
            truncated=not terminated,
            seed=seed,
            metadata={"driven_by": "learning"},
        )
        return total, length

    def take_returns(self) -> tuple[list[float], list[int]]:
        """Return what the learning episodes since the last call gave."""
        taken = self.returns, self.lengths
        self.returns, self.lengths = [], []
        return taken
