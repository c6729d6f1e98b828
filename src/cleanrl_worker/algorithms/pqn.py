"""Parallelised Q-network (Gallici et al. 2024).

Implemented: Q(lambda) targets over rollouts of parallel environments, layer normalisation in place
of target network and replay, epsilon-greedy exploration, RAdam; CleanRL's `pqn` and
`pqn_atari_envpool` by defaults and tags.
Changed: a truncated episode is bootstrapped from its last observation; RAdam's epsilon.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import mse_loss

from cleanrl_worker.agents.build import build_normalised_q_network
from cleanrl_worker.agents.inference import Infer, infer
from cleanrl_worker.agents.layout import laid_out, pick_rows
from cleanrl_worker.agents.q_networks import NormalisedQNetwork
from cleanrl_worker.algorithms.batches import check_batches
from cleanrl_worker.compiling import Compiler
from cleanrl_worker.envs.observations import Array, row_bytes
from cleanrl_worker.envs.vector import EnvBatch
from cleanrl_worker.exploration import epsilon_greedy, value_policy
from cleanrl_worker.optimisers import RAdam
from cleanrl_worker.policies import Policy
from cleanrl_worker.recording import Run
from cleanrl_worker.returns import q_lambda_returns
from cleanrl_worker.schedules import linear, linear_to_zero
from mosaic.contracts.parameters import param

# Where an endless task is mastered all values agree. What is left of the gradients is noise, and
# torch's 1e-8 scales it up to whole steps, in which a policy drifts away.
EPS = 1e-4


@dataclass(frozen=True)
class Config:
    learning_rate: float = param(2.5e-4, "Learning rate of RAdam.", range=(0, 1), group="optimiser")
    num_envs: int = param(4, "Environments stepped together.", range=(1, 65536), group="rollout")
    num_steps: int = param(
        128, "Steps of each environment in a rollout.", range=(1, None), group="rollout"
    )
    num_minibatches: int = param(4, "Minibatches of a rollout.", range=(1, None), group="update")
    update_epochs: int = param(4, "Passes over a rollout.", range=(1, None), group="update")
    anneal_lr: bool = param(True, "Let the learning rate fall linearly to zero.", group="optimiser")
    gamma: float = param(0.99, "Discount.", range=(0, 1), group="returns")
    start_e: float = param(1.0, "Exploration at the start.", range=(0, 1), group="exploration")
    end_e: float = param(0.05, "Exploration at the end.", range=(0, 1), group="exploration")
    exploration_fraction: float = param(
        0.5, "Share of the run in which exploration falls.", range=(0, 1), group="exploration"
    )
    max_grad_norm: float = param(
        10.0, "Longest gradient; longer ones are scaled.", range=(0, None), group="optimiser"
    )
    q_lambda: float = param(0.65, "Lambda of the targets.", range=(0, 1), group="returns")

    @property
    def batch_size(self) -> int:
        return self.num_envs * self.num_steps

    def check(self, total_timesteps: int) -> None:
        check_batches(self.num_envs, self.num_steps, self.num_minibatches, total_timesteps)


def build(config: Config, envs: EnvBatch) -> nn.Module:
    """Make the network that fits the environment's spaces."""
    return build_normalised_q_network(envs.observation_space, envs.action_space)


def storage_bytes(config: Config, envs: EnvBatch) -> int:
    """Return what a rollout takes in memory, once as stored and once as an update's batch."""
    return 2 * config.batch_size * (row_bytes(envs.observation_space) + 4 * 4)


def q_values_of(agent: nn.Module, device: torch.device) -> Infer:
    return infer(agent, agent.network if isinstance(agent, NormalisedQNetwork) else None, device)


def policy(agent: nn.Module, action_space: gym.Space[object], device: torch.device) -> Policy:
    return value_policy(q_values_of(agent, device))


@dataclass(slots=True)
class Rollout:
    """One rollout, allocated once: arrays of [step, environment]."""

    obs: Array
    actions: Array
    rewards: Array
    ends: Array
    next_values: Array

    @classmethod
    def allocate(cls, config: Config, envs: EnvBatch) -> Rollout:
        shape = (config.num_steps, config.num_envs)
        space = envs.observation_space
        return cls(
            obs=np.zeros((*shape, *space.shape), space.dtype),
            actions=np.zeros(shape, np.int64),
            rewards=np.zeros(shape, np.float32),
            ends=np.zeros(shape, np.bool_),
            next_values=np.zeros(shape, np.float32),
        )


def collect(
    run: Run, config: Config, envs: EnvBatch, q_values: Infer, rollout: Rollout, obs: Array
) -> Array:
    """Fill the rollout from `obs` on, and return the observations after it.

    One forward pass a step serves the next action and the value that the step before leads to.
    """
    exploration_steps = config.exploration_fraction * run.total_timesteps
    values = q_values(obs)
    for t in range(config.num_steps):
        epsilon = linear(config.start_e, config.end_e, exploration_steps, run.step)
        chosen = epsilon_greedy(values, epsilon, run.rng)
        rollout.obs[t], rollout.actions[t] = obs, chosen
        run.budget.lap("acting")
        step = envs.step(chosen)
        run.budget.lap("environment")
        run.step += envs.num_envs
        rewards = step.rewards
        if step.episodes:
            cut = step.truncated & ~step.terminated
            if cut.any():
                rewards = rewards + config.gamma * cut * q_values(step.next_obs).max(-1)
            run.log_episodes(step.episodes)
        obs, values = step.obs, q_values(step.obs)
        rollout.rewards[t], rollout.next_values[t] = rewards, values.max(-1)
        rollout.ends[t] = step.terminated | step.truncated
        if run.should_stop:
            break
    return obs


def loss(agent: nn.Module, obs: Tensor, actions: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """Return the squared error of the targets, and the values of the actions taken."""
    values = agent(obs).gather(1, actions[:, None]).squeeze(1)
    return mse_loss(values, targets), values


def find_gradients(
    agent: nn.Module,
    optimizer: RAdam,
    compiled: Compiler,
    obs: Tensor,
    actions: Tensor,
    targets: Tensor,
) -> dict[str, Tensor]:
    """Leave the gradients of a minibatch, and return what CleanRL logs of it."""
    td_loss, values = compiled(loss)(agent, obs, actions, targets)
    optimizer.zero_grad()
    td_loss.backward()
    return {"losses/td_loss": td_loss, "losses/q_values": values.mean()}


def update(
    run: Run,
    config: Config,
    learn: Callable[[Tensor, Tensor, Tensor], dict[str, Tensor]],
    optimizer: RAdam,
    rollout: Rollout,
    device: torch.device,
) -> dict[str, Tensor]:
    """Take the epochs of gradient steps over a rollout; empty where the run is to stop."""
    targets = q_lambda_returns(
        rollout.rewards,
        rollout.next_values,
        rollout.ends,
        gamma=config.gamma,
        q_lambda=config.q_lambda,
    )

    def flat(array: Array) -> Tensor:
        return torch.from_numpy(array.reshape(-1, *array.shape[2:])).to(device)

    obs, actions, wanted = laid_out(flat(rollout.obs)), flat(rollout.actions), flat(targets)
    losses: dict[str, Tensor] = {}
    for _ in range(config.update_epochs):
        order = torch.from_numpy(run.rng.permutation(config.batch_size)).to(device)
        for index in order.split(config.batch_size // config.num_minibatches):
            if run.should_stop:
                return {}
            losses = learn(pick_rows(obs, index), actions[index], wanted[index])
            optimizer.step()
    return losses


def train(run: Run, config: Config, envs: EnvBatch, agent: nn.Module, device: torch.device) -> None:
    optimizer = RAdam(
        agent.parameters(), config.learning_rate, eps=EPS, max_grad_norm=config.max_grad_norm
    )
    learn = run.compiled.whole(partial(find_gradients, agent, optimizer, run.compiled))
    q_values = q_values_of(agent, device)
    rollout = Rollout.allocate(config, envs)
    obs = run.begin(envs, agent=agent, optimizer=optimizer)
    iterations = run.total_timesteps // config.batch_size
    for iteration in range(run.step // config.batch_size, iterations):
        if config.anneal_lr:
            rate = linear_to_zero(config.learning_rate, iteration, iterations)
            optimizer.learning_rate = rate
        obs = collect(run, config, envs, q_values, rollout, obs)
        if run.should_stop:
            return
        losses = update(run, config, learn, optimizer, rollout, device)
        if not losses:
            return
        run.budget.lap("learning")
        run.log_update(losses)
        obs = run.boundary(envs, obs)
