"""A curriculum of stages: environments are swapped under a training that goes on.

Steps are counted step by step and conditions are looked at after each, in contrast to Syllabus-RL,
which counts when an episode ends. A stage that has met its condition ends at the algorithm's next
boundary, where no data is half used, as at the cut of a checkpoint.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cleanrl_worker.envs.observations import Array
from cleanrl_worker.envs.vector import EnvBatch, Episode, Step
from mosaic.contracts.curriculum import (
    BABYAI_DOORKEY_CURRICULUM,
    BABYAI_GOTO_CURRICULUM,
    CurriculumStage,
)

__all__ = [
    "BABYAI_DOORKEY_CURRICULUM",
    "BABYAI_GOTO_CURRICULUM",
    "Sequencer",
    "StagedEnvs",
    "Switch",
]

RETURN_WINDOW = 100  # episodes
# A mean of fewer is luck: the first episode that succeeds must not end a stage.
FEWEST_EPISODES = 10


@dataclass(frozen=True, slots=True)
class Switch:
    """The end of a stage: what followed, and what had been met."""

    stage: int
    stages: int
    env_id: str
    previous_env_id: str
    reason: str
    stage_steps: int
    stage_episodes: int


class Sequencer:
    """The stage that a run is in, and its counts: a piece of training state."""

    has_stages = True

    def __init__(self, stages: Sequence[CurriculumStage]) -> None:
        self.stages = tuple(stages)
        self.index = 0
        self._totals = {"total_steps": 0, "total_episodes": 0}
        self._steps = self._episodes = 0
        self._returns: deque[float] = deque(maxlen=RETURN_WINDOW)
        self._reason: str | None = None

    @property
    def stage(self) -> CurriculumStage:
        return self.stages[self.index]

    def count(self, steps: int, episodes: Sequence[Episode]) -> None:
        """Take in one step of all environments, and see whether the stage has met its condition."""
        self._steps += steps
        self._totals["total_steps"] += steps
        if episodes:
            self._episodes += len(episodes)
            self._totals["total_episodes"] += len(episodes)
            self._returns.extend(episode.total_reward for episode in episodes)
        condition = self.stage.condition
        if condition is not None and self._reason is None:
            self._reason = condition.met(self._counts())

    def advance(self) -> Switch | None:
        """Enter the next stage where this one is done with; say what happened."""
        if self._reason is None:
            return None
        before, self.index = self.stage, self.index + 1
        switch = Switch(
            self.index,
            len(self.stages),
            self.stage.env_id,
            before.env_id,
            self._reason,
            self._steps,
            self._episodes,
        )
        self._steps = self._episodes = 0
        self._returns.clear()
        self._reason = None
        return switch

    def metrics(self) -> dict[str, float]:
        return {"curriculum/current_stage": float(self.index)}

    def _counts(self) -> dict[str, float | None]:
        returns = self._returns
        is_known = len(returns) >= FEWEST_EPISODES
        return {
            "steps": self._steps,
            "episodes": self._episodes,
            "episode_return": sum(returns) / len(returns) if is_known else None,
            **self._totals,
        }

    def state_dict(self) -> dict[str, Any]:
        return {
            "stage": self.index,
            "steps": self._steps,
            "episodes": self._episodes,
            "returns": list(self._returns),
            "reason": self._reason or "",
            **self._totals,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        index = int(state["stage"])
        if not 0 <= index < len(self.stages):
            raise ValueError(f"it is of stage {index + 1}, and there are {len(self.stages)}")
        self.index = index
        self._steps, self._episodes = int(state["steps"]), int(state["episodes"])
        self._totals = {name: int(state[name]) for name in self._totals}
        self._returns = deque(map(float, state["returns"]), maxlen=RETURN_WINDOW)
        # A stage that has become the last one since does not end.
        self._reason = str(state["reason"]) or None if self.stage.condition is not None else None


class StagedEnvs:
    """The batch of the stage that the sequencer is in; `rebuild` builds that stage's.

    `build` makes the batch of a stage. The spaces of all stages are the same.
    """

    def __init__(self, build: Callable[[int], EnvBatch], sequencer: Sequencer) -> None:
        self._build = build
        self._sequencer = sequencer
        self._stage = sequencer.index
        self._envs = build(self._stage)
        self.num_envs = self._envs.num_envs
        self.observation_space = self._envs.observation_space
        self.action_space = self._envs.action_space
        self.max_episode_steps = self._envs.max_episode_steps

    def reset(self, seed: int) -> Array:
        return self._envs.reset(seed)

    def step(self, actions: Array) -> Step:
        step = self._envs.step(actions)
        self._sequencer.count(self.num_envs, step.episodes)
        return step

    def rebuild(self) -> None:
        if self._stage == self._sequencer.index:
            self._envs.rebuild()
            return
        self._envs.close()
        self._stage = self._sequencer.index
        self._envs = self._build(self._stage)
        self.max_episode_steps = self._envs.max_episode_steps

    def close(self) -> None:
        self._envs.close()
