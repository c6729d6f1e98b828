"""Evaluating a policy that remembers: each episode begins with nothing remembered."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cleanrl_worker.envs.registry import resolve
from cleanrl_worker.eval_preparation import prepare_evaluation
from cleanrl_worker.evaluation import EvaluatedEpisode, Rules, evaluate
from cleanrl_worker.evaluation_env import Stage
from cleanrl_worker.interactive import Session
from cleanrl_worker.interactive_request import InteractiveRequest
from tests.cleanrl_worker.trained import Trained, train

ENV = "ProofofMemory-v0"
SMALL = (
    f"--env-id={ENV}",
    "--total-timesteps=256",
    "--num-envs=4",
    "--num-steps=32",
    "--checkpoint-interval=256",
)


class Counting:
    """Goes right, and counts the steps of an episode and the episodes."""

    def __init__(self) -> None:
        self.steps = 0
        self.counted: list[int] = []

    def __call__(self, obs: np.ndarray, rng: np.random.Generator | None) -> np.ndarray:
        self.steps += 1
        return np.ones(len(obs), np.int64)

    def forget(self) -> None:
        self.counted.append(self.steps)
        self.steps = 0


def test_a_policy_is_told_of_every_episode() -> None:
    policy, stage = Counting(), Stage(resolve(ENV))
    episodes = list(evaluate(policy, stage, range(4), Rules(seed=1)))
    stage.close()
    assert [*policy.counted[1:], policy.steps] == [episode.length for episode in episodes]


@pytest.mark.parametrize("algo", ["ppo_atari_lstm", "ppo_trxl", "pqn_atari_envpool_lstm"])
@pytest.mark.parametrize("kind", ["model", "checkpoint"])
def test_an_episode_does_not_depend_on_those_before(algo: str, kind: str, tmp_path: Path) -> None:
    trained = train(tmp_path / "run", algo, *SMALL)
    whole = play(trained, kind, range(6))
    assert play(trained, kind, range(3, 6)) == whole[3:]


def play(trained: Trained, kind: str, numbers: range) -> list[EvaluatedEpisode]:
    flags = [f"--policy-path={trained.policy(kind)}", "--no-eval-deterministic"]
    prepared = prepare_evaluation(trained.algo, flags)
    episodes = list(evaluate(prepared.policy.choose, prepared.stage, numbers, prepared.rules))
    prepared.stage.close()
    return episodes


def test_stepped_by_hand_it_remembers_what_others_did() -> None:
    policy, stage = Counting(), Stage(resolve(ENV))
    session = Session(InteractiveRequest("run", ENV, is_drawn=False), stage, policy)
    list(session.reset({"seed": 1}))
    list(session.step({"action": 0}))
    list(session.step({}))
    assert policy.steps == 2
    list(session.reset({"seed": 1}))
    assert policy.steps == 0
    session.close()
