"""Parallelised Q-network with a long short-term memory (Gallici et al. 2024).

Implemented: PQN as in `pqn` on a network that remembers: a rollout's states are computed again from
the one it began with, and a minibatch is made of whole sequences, one an environment; CleanRL's
`pqn_atari_envpool_lstm` by defaults and tags.
Changed: a truncated episode is bootstrapped from its last observation, with the state that it had
there. The state never crosses a cut. RAdam's epsilon is that of `pqn`.
"""

from __future__ import annotations

from dataclasses import dataclass

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import mse_loss

from cleanrl_worker.agents.q_networks import count_actions
from cleanrl_worker.agents.recurrent import (
    HIDDEN,
    Evaluate,
    LSTMQNetwork,
    State,
    cleared,
    empty_state,
    evaluating,
)
from cleanrl_worker.algorithms.batches import check_sequences
from cleanrl_worker.algorithms.pqn import EPS
from cleanrl_worker.envs.observations import Array, row_bytes
from cleanrl_worker.envs.vector import EnvBatch
from cleanrl_worker.exploration import EVALUATION_EPSILON, epsilon_greedy
from cleanrl_worker.optimisers import RAdam
from cleanrl_worker.policies import Policy
from cleanrl_worker.recording import Run
from cleanrl_worker.returns import q_lambda_returns
from cleanrl_worker.schedules import linear, linear_to_zero
from mosaic.contracts.parameters import param


@dataclass(frozen=True)
class Config:
    learning_rate: float = param(2.5e-4, "Learning rate of RAdam.", range=(0, 1), group="optimiser")
    num_envs: int = param(8, "Environments stepped together.", range=(1, 65536), group="rollout")
    num_steps: int = param(
        128, "Steps of each environment in a rollout.", range=(1, None), group="rollout"
    )
    num_minibatches: int = param(
        4, "Minibatches of a rollout, of whole environments each.", range=(1, None), group="update"
    )
    update_epochs: int = param(4, "Passes over a rollout.", range=(1, None), group="update")
    anneal_lr: bool = param(True, "Let the learning rate fall linearly to zero.", group="optimiser")
    gamma: float = param(0.99, "Discount.", range=(0, 1), group="returns")
    start_e: float = param(1.0, "Exploration at the start.", range=(0, 1), group="exploration")
    end_e: float = param(0.01, "Exploration at the end.", range=(0, 1), group="exploration")
    exploration_fraction: float = param(
        0.1, "Share of the run in which exploration falls.", range=(0, 1), group="exploration"
    )
    max_grad_norm: float = param(
        0.5, "Longest gradient; longer ones are scaled.", range=(0, None), group="optimiser"
    )
    q_lambda: float = param(0.65, "Lambda of the targets.", range=(0, 1), group="returns")

    @property
    def batch_size(self) -> int:
        return self.num_envs * self.num_steps

    def check(self, total_timesteps: int) -> None:
        check_sequences(self.num_envs, self.num_steps, self.num_minibatches, total_timesteps)


def build(config: Config, envs: EnvBatch) -> nn.Module:
    """Make the network that fits the environment's spaces."""
    return LSTMQNetwork(envs.observation_space, count_actions(envs.action_space))


def storage_bytes(config: Config, envs: EnvBatch) -> int:
    """Return what a rollout takes in memory, once as stored and once as an update's batch."""
    rows = config.batch_size * (row_bytes(envs.observation_space) + 5 * 4)
    return 2 * (rows + config.num_envs * 2 * HIDDEN * 4)


class LSTMValuePolicy:
    """The greedy policy of the action values; with a generator it explores a little."""

    def __init__(self, agent: nn.Module, device: torch.device) -> None:
        self._evaluate, self._device = evaluating(agent, device), device
        self._state: State | None = None

    def __call__(self, obs: Array, rng: np.random.Generator | None) -> Array:
        state = self._state or empty_state(len(obs), self._device)
        values, self._state = self._evaluate(obs, state)
        if rng is not None:
            return epsilon_greedy(values, EVALUATION_EPSILON, rng)
        best: Array = values.argmax(-1)
        return best

    def forget(self) -> None:
        self._state = None


def policy(agent: nn.Module, action_space: gym.Space[object], device: torch.device) -> Policy:
    return LSTMValuePolicy(agent, device)


@dataclass(slots=True)
class Rollout:
    """One rollout, allocated once: arrays of [step, environment]. `state` is that it began with."""

    obs: Array
    actions: Array
    rewards: Array
    ends: Array
    next_values: Array
    state: State

    @classmethod
    def allocate(cls, config: Config, envs: EnvBatch, device: torch.device) -> Rollout:
        shape = (config.num_steps, config.num_envs)
        space = envs.observation_space
        return cls(
            obs=np.zeros((*shape, *space.shape), space.dtype),
            actions=np.zeros(shape, np.int64),
            rewards=np.zeros(shape, np.float32),
            ends=np.zeros(shape, np.bool_),
            next_values=np.zeros(shape, np.float32),
            state=empty_state(config.num_envs, device),
        )


def collect(
    run: Run, config: Config, envs: EnvBatch, evaluate: Evaluate, rollout: Rollout, obs: Array
) -> tuple[Array, State]:
    """Fill the rollout from `obs` and its own state on, and return those after it.

    One forward pass a step serves the next action and the value that the step before leads to.
    """
    exploration_steps = config.exploration_fraction * run.total_timesteps
    state = rollout.state  # before the observation is seen
    values, seen = evaluate(obs, state)
    for t in range(config.num_steps):
        epsilon = linear(config.start_e, config.end_e, exploration_steps, run.step)
        chosen = epsilon_greedy(values, epsilon, run.rng)
        rollout.obs[t], rollout.actions[t] = obs, chosen
        run.budget.lap("acting")
        step = envs.step(chosen)
        run.budget.lap("environment")
        run.step += envs.num_envs
        rewards, state = step.rewards, seen
        ended = step.terminated | step.truncated
        if ended.any():
            cut = step.truncated & ~step.terminated
            if cut.any():
                best = evaluate(step.next_obs, state)[0].max(-1)
                rewards = rewards + config.gamma * cut * best
            state = cleared(state, torch.from_numpy(ended).to(state[0].device))
            run.log_episodes(step.episodes)
        obs = step.obs
        values, seen = evaluate(obs, state)
        rollout.rewards[t], rollout.next_values[t] = rewards, values.max(-1)
        rollout.ends[t] = ended
        if run.should_stop:
            break
    return obs, state


def loss(values: Tensor, actions: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """Return the squared error of the targets, and the values of the actions taken.

    The network is left outside: where episodes end decides what it computes, so that a compiler
    would begin anew with every minibatch.
    """
    chosen = values.gather(2, actions[..., None]).squeeze(2)
    return mse_loss(chosen, targets), chosen


def update(
    run: Run,
    config: Config,
    agent: nn.Module,
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
    obs, actions, ends, wanted = (
        torch.from_numpy(array).to(device)
        for array in (rollout.obs, rollout.actions, rollout.ends, targets)
    )
    loss_of = run.compiled(loss)
    losses: dict[str, Tensor] = {}
    for _ in range(config.update_epochs):
        order = torch.from_numpy(run.rng.permutation(config.num_envs)).to(device)
        for index in order.split(config.num_envs // config.num_minibatches):
            if run.should_stop:
                return {}
            hidden, cell = (part.index_select(1, index) for part in rollout.state)
            values, _ = agent(obs.index_select(1, index), (hidden, cell), ends[:, index])
            td_loss, chosen = loss_of(values, actions[:, index], wanted[:, index])
            optimizer.descend(td_loss)
            losses = {"losses/td_loss": td_loss, "losses/q_values": chosen.mean()}
    return losses


def train(run: Run, config: Config, envs: EnvBatch, agent: nn.Module, device: torch.device) -> None:
    optimizer = RAdam(
        agent.parameters(), config.learning_rate, eps=EPS, max_grad_norm=config.max_grad_norm
    )
    evaluate = evaluating(agent, device)
    rollout = Rollout.allocate(config, envs, device)
    obs = run.begin(envs, agent=agent, optimizer=optimizer)
    iterations = run.total_timesteps // config.batch_size
    for iteration in range(run.step // config.batch_size, iterations):
        if config.anneal_lr:
            rate = linear_to_zero(config.learning_rate, iteration, iterations)
            optimizer.learning_rate = rate
        obs, state = collect(run, config, envs, evaluate, rollout, obs)
        if run.should_stop:
            return
        losses = update(run, config, agent, optimizer, rollout, device)
        if not losses:
            return
        run.budget.lap("learning")
        run.log_update(losses)
        obs = run.boundary(envs, obs)
        rollout.state = empty_state(config.num_envs, device) if run.has_cut else state
