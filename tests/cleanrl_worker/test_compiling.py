"""Compiled losses are the losses; what a machine cannot do is said before anything starts."""

from __future__ import annotations

import copy
import dataclasses
import shutil
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from torch import Tensor, nn

from cleanrl_worker.agents.build import build_actor_critic, build_q_network
from cleanrl_worker.agents.layout import SCENES
from cleanrl_worker.algorithms import c51, ddpg, dqn, ppg, ppo, pqn, rainbow, sac, sac_discrete, td3
from cleanrl_worker.compiling import Compiler, build_compiler
from cleanrl_worker.distributions import distribution_for
from cleanrl_worker.replay.buffer import Transitions
from cleanrl_worker.replay.prioritised import Windows
from mosaic.contracts.errors import ConfigError, DependencyMissing

CPU = torch.device("cpu")
OBS = gym.spaces.Box(-1, 1, (4,), np.float32)
DISCRETE = gym.spaces.Discrete(3)
BOX = gym.spaces.Box(-1, 1, (2,), np.float32)
ROWS = 16


def transitions(*, is_discrete: bool) -> Transitions:
    actions = torch.randint(3, (ROWS,)) if is_discrete else torch.rand(ROWS, 2) * 2 - 1
    ends = (torch.rand(ROWS) < 0.2).float()
    return Transitions(torch.randn(ROWS, 4), actions, torch.randn(ROWS), torch.randn(ROWS, 4), ends)


def test_by_default_nothing_is_compiled() -> None:
    assert Compiler()(max) is max


def test_graphs_need_a_gpu() -> None:
    with pytest.raises(ConfigError, match="cudagraphs=true needs cuda=true"):
        build_compiler(compile=False, cudagraphs=True, cuda=False, device=CPU)
    compiler, warnings = build_compiler(compile=False, cudagraphs=True, cuda=True, device=CPU)
    assert warnings == ("cudagraphs=true has no effect without a GPU.",)
    assert compiler(max) is max


def test_a_missing_compiler_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(DependencyMissing, match=r"compile=true needs a C\+\+ compiler"):
        build_compiler(compile=True, cudagraphs=False, cuda=False, device=CPU)


def case_of_ppo() -> tuple[nn.Module, Callable[..., Any], tuple[Any, ...]]:
    agent = build_actor_critic(OBS, DISCRETE, shared_trunk=False)
    batch = ppo.Batch(
        torch.randn(ROWS, 4),
        torch.randint(3, (ROWS,)),
        *(torch.randn(ROWS) for _ in range(4)),
    )
    return agent, ppo.loss, (agent, distribution_for(DISCRETE), batch, ppo.Config())


def case_of_phases() -> tuple[nn.Module, Callable[..., Any], tuple[Any, ...]]:
    agent = ppg.build(ppg.Config(), _Envs(DISCRETE))  # type: ignore[arg-type]
    batch = ppg.Batch(torch.randn(ROWS, 4), torch.randn(ROWS), torch.randn(ROWS, 3))
    return agent, ppg.auxiliary_loss, (agent, batch, ppg.Config())


def case_of_scenes() -> tuple[nn.Module, Callable[..., Any], tuple[Any, ...]]:
    envs = _Envs(DISCRETE, gym.spaces.Box(0, 255, SCENES, np.uint8))
    agent = ppg.build(ppg.Config(), envs)  # type: ignore[arg-type]
    scenes = torch.randint(256, (ROWS, *SCENES), dtype=torch.uint8)
    batch = ppg.Batch(scenes, torch.randn(ROWS), torch.randn(ROWS, 3))
    return agent, ppg.auxiliary_loss, (agent, batch, ppg.Config())


def case_of_pqn() -> tuple[nn.Module, Callable[..., Any], tuple[Any, ...]]:
    agent = build_q_network(OBS, DISCRETE)
    targets = torch.randn(ROWS)
    return agent, pqn.loss, (agent, torch.randn(ROWS, 4), torch.randint(3, (ROWS,)), targets)


def case_of_dqn() -> tuple[nn.Module, Callable[..., Any], tuple[Any, ...]]:
    agent = build_q_network(OBS, DISCRETE)
    return agent, dqn.loss, (agent, copy.deepcopy(agent), transitions(is_discrete=True), 0.99)


def case_of_c51() -> tuple[nn.Module, Callable[..., Any], tuple[Any, ...]]:
    agent = c51.build(c51.Config(), _Envs(DISCRETE))  # type: ignore[arg-type]
    return agent, c51.loss, (agent, copy.deepcopy(agent), transitions(is_discrete=True), 0.99)


def case_of_ddpg() -> tuple[nn.Module, Callable[..., Any], tuple[Any, ...]]:
    agent = ddpg.Agent((4,), BOX)
    return (
        agent,
        ddpg.critic_loss,
        (agent, copy.deepcopy(agent), transitions(is_discrete=False), 0.9),
    )


def case_of_td3() -> tuple[nn.Module, Callable[..., Any], tuple[Any, ...]]:
    agent = td3.Agent((4,), BOX)
    config = td3.Config(policy_noise=0.0)  # a compiled program draws its noise in another order
    batch = transitions(is_discrete=False)
    return agent, td3.critic_losses, (agent, copy.deepcopy(agent), batch, config)


def case_of_sac() -> tuple[nn.Module, Callable[..., Any], tuple[Any, ...]]:
    agent = sac.Agent((4,), BOX)
    batch = transitions(is_discrete=False)
    batch = dataclasses.replace(batch, ends=torch.ones(ROWS))  # no sampled action counts
    return (
        agent,
        sac.critic_losses,
        (agent, copy.deepcopy(agent.critics), batch, torch.ones(1), 0.9),
    )


def case_of_soft() -> tuple[nn.Module, Callable[..., Any], tuple[Any, ...]]:
    agent = sac_discrete.Agent(OBS, DISCRETE)
    batch, target = transitions(is_discrete=True), copy.deepcopy(agent.critics)
    return agent, sac_discrete.critic_losses, (agent, target, batch, torch.ones(1), 0.9)


def case_of_rainbow() -> tuple[nn.Module, Callable[..., Any], tuple[Any, ...]]:
    agent = rainbow.build(rainbow.Config(), _Envs(DISCRETE))  # type: ignore[arg-type]
    assert isinstance(agent, rainbow.RainbowNetwork)
    agent.draw_noise()
    seen = transitions(is_discrete=True)
    batch = Windows(
        seen.obs, seen.actions, seen.rewards, seen.next_obs, 0.9 * seen.ends, torch.rand(ROWS)
    )

    def loss(*arguments: Any) -> tuple[Tensor, Tensor]:
        return rainbow.loss(*arguments)[:2]

    return agent, loss, (agent, copy.deepcopy(agent), batch)


class _Envs:
    """What `build` asks of environments."""

    def __init__(
        self, action_space: gym.Space[Any], observation_space: gym.spaces.Box = OBS
    ) -> None:
        self.observation_space = observation_space
        self.action_space = action_space


CASES = [
    case_of_ppo, case_of_pqn, case_of_dqn, case_of_c51, case_of_ddpg, case_of_td3, case_of_sac,
    case_of_soft, case_of_rainbow, case_of_phases, case_of_scenes,
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__.rpartition("_")[2])
def test_a_compiled_loss_is_the_loss(case: Callable[[], Any]) -> None:
    torch.manual_seed(1)
    agent, loss, arguments = case()
    expected = _loss_and_gradients(agent, loss, arguments)
    got = _loss_and_gradients(agent, Compiler(compile=True)(loss), arguments)
    for mine, theirs in zip(got, expected, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-5)


def _loss_and_gradients(
    agent: nn.Module, loss: Callable[..., Any], arguments: tuple[Any, ...]
) -> list[Tensor]:
    agent.zero_grad()
    made = loss(*arguments)
    total = made[0] if len(made) == 2 else made[0] + made[1]
    total.backward()
    gradients = [weights.grad for weights in agent.parameters() if weights.grad is not None]
    return [total.detach(), *(gradient.clone() for gradient in gradients)]
