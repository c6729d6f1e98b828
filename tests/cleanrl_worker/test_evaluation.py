"""Loading trained policies and playing episodes with them."""

from __future__ import annotations

import json
import os
import pickle
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from torch import nn

from cleanrl_worker.agents.minigrid import MinigridAgent
from cleanrl_worker.agents.mlp import MLPAgent
from cleanrl_worker.checkpoint import read_checkpoint
from cleanrl_worker.envs.registry import resolve
from cleanrl_worker.eval_preparation import PreparedEvaluation, prepare_evaluation
from cleanrl_worker.evaluation import EvaluatedEpisode, Rules, evaluate
from cleanrl_worker.evaluation_env import Stage
from tests.cleanrl_worker.trained import Trained, run_evaluator, train

SMALL = ("--total-timesteps=256", "--num-envs=2", "--num-steps=64")


@pytest.fixture(scope="module")
def cartpole(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    return train(tmp_path_factory.mktemp("trained") / "cartpole", "ppo", *SMALL)


@pytest.fixture(scope="module")
def pendulum(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    directory = tmp_path_factory.mktemp("trained") / "pendulum"
    flags = (*SMALL, "--env-id=Pendulum-v1", "--num-minibatches=4")
    return train(directory, "ppo_continuous_action", *flags)


def prepare(algo: str, policy: Path, *flags: str) -> PreparedEvaluation:
    return prepare_evaluation(algo, [f"--policy-path={policy}", *flags])


def play(prepared: PreparedEvaluation, numbers: Sequence[int] = range(4)) -> list[EvaluatedEpisode]:
    stage = prepared.stage
    episodes = list(evaluate(prepared.policy.choose, stage, numbers, prepared.rules))
    stage.close()
    return episodes


def returns(episodes: Sequence[EvaluatedEpisode]) -> list[float]:
    return [episode.total_reward for episode in episodes]


@pytest.mark.parametrize("mode", ["--eval-deterministic", "--no-eval-deterministic"])
@pytest.mark.parametrize("kind", ["model", "checkpoint"])
@pytest.mark.parametrize("trained", ["cartpole", "pendulum"])
def test_one_seed_gives_the_same_episodes_again(
    trained: str, kind: str, mode: str, request: pytest.FixtureRequest
) -> None:
    run: Trained = request.getfixturevalue(trained)
    flags = ("--seed=3", mode, "--eval-max-episode-steps=100")
    first = play(prepare(run.algo, run.policy(kind), *flags))
    assert play(prepare(run.algo, run.policy(kind), *flags)) == first
    assert len(set(returns(first))) > 1
    other = play(prepare(run.algo, run.policy(kind), "--seed=4", *flags[1:]))
    assert returns(other) != returns(first)


def test_a_model_and_the_checkpoint_of_its_end_are_one_policy(cartpole: Trained) -> None:
    assert play(prepare("ppo", cartpole.model)) == play(prepare("ppo", cartpole.checkpoint))


def test_the_evaluation_after_training_is_the_same_as_one_of_the_model(pendulum: Trained) -> None:
    rows = [json.loads(row) for row in (pendulum.home / "metrics.jsonl").read_text().splitlines()]
    tag = "eval/episodic_return"
    after_training = [row["values"][tag] for row in rows if tag in row["values"]]
    prepared = prepare(pendulum.algo, pendulum.model, "--seed=1")
    assert returns(play(prepared, range(10))) == after_training


def test_how_episodes_are_divided_into_batches_changes_nothing(cartpole: Trained) -> None:
    prepared = prepare("ppo", cartpole.model, "--no-eval-deterministic")
    whole = play(prepared, range(6))
    parts = prepare("ppo", cartpole.model, "--no-eval-deterministic")
    assert play(parts, range(2)) + play(parts, range(2, 6)) == whole


def test_an_episode_does_not_depend_on_those_before_it() -> None:
    # A used BipedalWalker is not a fresh one, whatever seed it is reset with.
    stage = Stage(resolve("BipedalWalker-v3"))

    def lunge(obs: Any, rng: np.random.Generator | None) -> Any:
        return np.sin(obs[:, :4] * 9)

    rules = Rules(seed=1, max_steps=200)
    in_order = list(evaluate(lunge, stage, range(3), rules))
    alone = list(evaluate(lunge, stage, [2], rules))
    stage.close()
    assert in_order[2:] == alone


class Lottery(gym.Env[Any, Any]):
    """An environment that draws from global states, as environments should not."""

    observation_space = gym.spaces.Box(0, 1, (4,))
    action_space = gym.spaces.Box(-1, 1, (4,))

    def reset(self, **_: Any) -> tuple[Any, dict[str, Any]]:
        return np.random.rand(4).astype(np.float32), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        return self.reset()[0], random.random() + np.random.rand(), random.random() < 0.1, False, {}


def test_global_random_states_are_seeded_for_every_episode() -> None:
    gym.register("Lottery-v0", Lottery)
    stage = Stage(resolve("Lottery-v0"))
    whole = list(evaluate(lambda obs, rng: obs, stage, range(3), Rules(seed=1)))
    assert list(evaluate(lambda obs, rng: obs, stage, [2], Rules(seed=1))) == whole[2:]
    assert len(set(returns(whole))) == 3
    del gym.registry["Lottery-v0"]


def test_gamma_discounts_and_never_ends_an_episode(cartpole: Trained) -> None:
    plain = play(prepare("ppo", cartpole.model))
    discounted = play(prepare("ppo", cartpole.model, "--eval-gamma=0.5"))
    assert [episode.length for episode in discounted] == [episode.length for episode in plain]
    for episode in discounted:
        assert episode.discounted_return == pytest.approx(2 * (1 - 0.5**episode.length))


@pytest.mark.parametrize(
    ("limit", "length"), [("--eval-max-episode-steps=7", 7), ("--eval-max-episode-seconds=0", 1)]
)
def test_a_limit_cuts_episodes_and_says_so(cartpole: Trained, limit: str, length: int) -> None:
    episodes = play(prepare("ppo", cartpole.model, limit))
    assert [episode.length for episode in episodes] == [length] * 4
    assert all(episode.is_truncated and episode.is_cut for episode in episodes)


def test_a_stop_ends_between_two_steps_and_drops_the_episode(cartpole: Trained) -> None:
    prepared = prepare("ppo", cartpole.model)
    calls = iter(range(5))
    stopped = evaluate(
        prepared.policy.choose,
        prepared.stage,
        range(4),
        prepared.rules,
        should_stop=lambda: next(calls) == 4,
    )
    assert list(stopped) == []


@pytest.mark.parametrize("kind", ["model", "checkpoint"])
def test_the_training_statistics_are_used_and_stand_still(pendulum: Trained, kind: str) -> None:
    if kind == "model":
        saved = torch.load(pendulum.model, weights_only=True)
    else:
        saved = read_checkpoint(pendulum.checkpoint).state["normaliser"]
    prepared = prepare(pendulum.algo, pendulum.policy(kind))
    before = prepared.stage.statistics()
    play(prepared)
    after = prepared.stage.statistics()
    for name in ("obs_rms.mean", "obs_rms.var", "return_rms.var"):
        np.testing.assert_array_equal(before[name], saved[name])
        np.testing.assert_array_equal(after[name], saved[name])


@pytest.mark.parametrize(
    ("flags", "architecture", "part"),
    [
        (("--shared-trunk",), MLPAgent, "trunk.0.weight"),
        (("--env-id=MiniGrid-Empty-5x5-v0",), MinigridAgent, "encoder.0.weight"),
    ],
    ids=["shared trunk", "MiniGrid"],
)
def test_the_network_is_the_one_that_was_trained(
    tmp_path: Path, flags: tuple[str, ...], architecture: type[nn.Module], part: str
) -> None:
    run = train(tmp_path / "run", "ppo", *SMALL, *flags)
    saved = torch.load(run.model, weights_only=True)
    for policy in (run.model, run.checkpoint):
        prepared = prepare("ppo", policy, "--eval-max-episode-steps=20")
        assert type(prepared.policy.agent) is architecture
        assert torch.equal(prepared.policy.agent.state_dict()[part], saved[part])
        assert len(play(prepared)) == 4


class CleanRLAgent(nn.Module):
    """The network of CleanRL's ppo, written down anew: its names and shapes."""

    def __init__(self) -> None:
        super().__init__()
        self.critic = self._network(1)
        self.actor = self._network(2)

    def _network(self, outputs: int) -> nn.Sequential:
        return nn.Sequential(
            nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, outputs)
        )


@pytest.mark.parametrize("with_arguments", [False, True])
def test_a_file_of_cleanrls_own_is_evaluated(tmp_path: Path, with_arguments: bool) -> None:
    torch.manual_seed(0)
    agent = CleanRLAgent()
    weights = agent.state_dict()
    path = tmp_path / "ppo.cleanrl_model"
    torch.save({"model_weights": weights, "args": {"seed": 1}} if with_arguments else weights, path)
    prepared = prepare("ppo", path, "--env-id=CartPole-v1")
    obs = np.random.default_rng(0).normal(size=(32, 4)).astype(np.float32)
    with torch.inference_mode():
        expected = agent.actor(torch.from_numpy(obs)).argmax(-1).numpy()
    np.testing.assert_array_equal(prepared.policy.choose(obs, None), expected)
    assert prepared.warnings == ()
    assert len(play(prepared)) == 4


def without_description(trained: Trained, path: Path, *, statistics: bool) -> Path:
    state = torch.load(trained.model, weights_only=True)
    kept = {name: item for name, item in state.items() if statistics or "_rms." not in name}
    torch.save(kept, path)
    return path


def test_statistics_that_were_never_saved_are_estimated_and_warned_about(
    pendulum: Trained, tmp_path: Path
) -> None:
    path = without_description(pendulum, tmp_path / "p.cleanrl_model", statistics=False)
    runs = [prepare(pendulum.algo, path, "--env-id=Pendulum-v1") for _ in range(2)]
    assert "estimated anew" in runs[0].warnings[0]
    first, again = (play(run, range(2)) for run in runs)
    assert first == again
    assert runs[0].stage.statistics()["obs_rms.count"] > 400
    # The rewards are the environment's own, as they are with saved statistics.
    assert all(-2000 < episode.total_reward < -200 for episode in first)


def test_statistics_in_a_file_without_description_are_used(
    pendulum: Trained, tmp_path: Path
) -> None:
    path = without_description(pendulum, tmp_path / "p.cleanrl_model", statistics=True)
    prepared = prepare(pendulum.algo, path, "--env-id=Pendulum-v1")
    assert prepared.warnings == ()
    assert play(prepared) == play(prepare(pendulum.algo, pendulum.model))


def test_another_environment_of_the_same_spaces_is_a_warning(cartpole: Trained) -> None:
    prepared = prepare("ppo", cartpole.model, "--env-id=CartPole-v0")
    assert "The policy was trained on CartPole-v1, and is evaluated on CartPole-v0." in (
        prepared.warnings
    )
    assert max(episode.length for episode in play(prepared)) <= 200


class Hostile:
    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> Any:
        return os.system, (f"touch {self.marker}",)


def test_a_hostile_file_runs_nothing(tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    for name, save in (("a", torch.save), ("b", _pickle)):
        path = tmp_path / f"{name}.cleanrl_model"
        save({"actor.0.weight": Hostile(marker)}, path)
        code, stderr = run_evaluator(tmp_path, "ppo", f"--policy-path={path}")
        assert code == 2
        assert "is no saved policy: it holds more than tensors" in stderr
        assert len(stderr.splitlines()) == 1
    assert not marker.exists()
    pickle.loads((tmp_path / "b.cleanrl_model").read_bytes())
    assert marker.exists(), "the file was harmless after all"


def _pickle(value: Any, path: Path) -> None:
    path.write_bytes(pickle.dumps(value))


def refusal(directory: Path, algo: str, policy: Path, *flags: str) -> str:
    before = sorted(directory.rglob("*"))
    code, stderr = run_evaluator(directory, algo, f"--policy-path={policy}", *flags)
    assert code == 2
    assert sorted(directory.rglob("*")) == before, "nothing is left behind"
    (line,) = stderr.splitlines()
    return line


@pytest.mark.parametrize("kind", ["model", "checkpoint"])
def test_a_policy_that_does_not_fit_is_refused(
    cartpole: Trained, tmp_path: Path, kind: str
) -> None:
    policy = cartpole.policy(kind)
    line = refusal(tmp_path, "ppo_continuous_action", policy)
    assert line.endswith(f"The policy '{policy.name}' is of 'ppo', not of 'ppo_continuous_action'.")
    line = refusal(tmp_path, "ppo", policy, "--env-id=Acrobot-v1")
    assert "(was trained on 'CartPole-v1') does not fit the MLPAgent" in line
    assert "critic.0.weight is 64x4, not 64x6" in line
    line = refusal(tmp_path, "ppo", policy, "--env-id=MiniGrid-Empty-5x5-v0")
    assert "does not fit the MinigridAgent of this environment: it lacks encoder.0.weight" in line
    line = refusal(tmp_path, "ppo", policy, "--env-id=Pendulum-v1")
    assert "Use ppo_continuous_action for it." in line


def test_what_is_no_policy_is_refused(cartpole: Trained, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "folder").mkdir()
    (tmp_path / "noise").write_bytes(os.urandom(4096))
    (tmp_path / "cut").write_bytes(cartpole.model.read_bytes()[:2000])
    torch.save([torch.zeros(3)], tmp_path / "list")
    torch.save({"q_network.0.weight": torch.zeros(3)}, tmp_path / "dqn")
    for name, says in {
        "absent": "cannot be read: No such file or directory",
        "x" * 300: "cannot be read: File name too long",
        "fifo": "is neither a file nor a checkpoint",
        "folder": "is no checkpoint",
        "noise": "is no saved policy",
        "cut": "is no saved policy",
        "list": "is not a dictionary of tensors",
        "dqn": "it lacks critic.0.weight",
    }.items():
        assert says in refusal(tmp_path, "ppo", tmp_path / name, "--env-id=CartPole-v1")
    assert run_evaluator(tmp_path, "ppo") == (
        2,
        "policy_path is missing: name a saved policy or a checkpoint.\n",
    )


@pytest.mark.parametrize(
    ("description", "says"),
    [
        ("{", "is not JSON"),
        ("[]", "it is no JSON object"),
        ('{"algo": "ppo", "env_id": 3, "settings": {}}', "it has no env_id"),
        (
            '{"algo": "ppo", "env_id": "CartPole-v1", "settings": {"shared_trunk": 7}}',
            "has wrong settings: shared_trunk=7",
        ),
        ("9" * 2_000_000, "is too large"),
    ],
)
def test_a_description_that_is_wrong_is_refused(
    cartpole: Trained, tmp_path: Path, description: str, says: str
) -> None:
    (tmp_path / "p.cleanrl_model").write_bytes(cartpole.model.read_bytes())
    (tmp_path / "p.json").write_text(description)
    assert says in refusal(tmp_path, "ppo", tmp_path / "p.cleanrl_model")


def test_a_model_that_lost_its_description_says_what_is_missing(
    cartpole: Trained, tmp_path: Path
) -> None:
    path = without_description(cartpole, tmp_path / "p.cleanrl_model", statistics=True)
    assert "env_id is missing" in refusal(tmp_path, "ppo", path)
    line = refusal(tmp_path, "ppo", path, "--env-id=Acrobot-v1")
    assert "A model of MOSAIC's needs 'p.json' beside it." in line


@pytest.mark.parametrize("is_asked_for", [True, False])
def test_episodes_are_filmed_only_when_asked(
    cartpole: Trained, tmp_path: Path, is_asked_for: bool
) -> None:
    flags = ["--eval-batch-size=2", "--eval-max-episode-steps=5", "--tensorboard-dir=None"]
    flags += ["--eval-capture-video"] if is_asked_for else []
    code, stderr = run_evaluator(tmp_path, "ppo", f"--policy-path={cartpole.model}", *flags)
    assert (code, stderr) == (0, "")
    files = sorted(path.name for path in tmp_path.rglob("videos/local-eval/*"))
    assert files == (["episode-00000.mp4", "episode-00001.mp4"] if is_asked_for else [])
    assert (tmp_path / "videos").exists() == is_asked_for
