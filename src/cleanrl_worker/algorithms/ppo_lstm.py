"""Proximal policy optimisation with a long short-term memory.

Implemented: PPO as in `ppo` (Schulman et al. 2017) on a network that remembers: a rollout's states
are computed again from the one it began with, and a minibatch is made of whole sequences, one an
environment; CleanRL's `ppo_atari_lstm` by defaults and tags. Beside Atari's pictures it takes
MiniGrid's views and flat observations.
Changed: a truncated episode is bootstrapped from its last observation, with the state that it had
there, and environments are reset in the step in which they end. The state never crosses a cut.
"""

from __future__ import annotations

from dataclasses import dataclass

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor, nn

from cleanrl_worker.agents.recurrent import (
    HIDDEN,
    Advance,
    LSTMAgent,
    State,
    advancing,
    cleared,
    empty_state,
)
from cleanrl_worker.algorithms.batches import check_sequences
from cleanrl_worker.distributions import Distribution, distribution_for
from cleanrl_worker.envs.observations import Array, row_bytes
from cleanrl_worker.envs.vector import EnvBatch
from cleanrl_worker.optimisers import Adam
from cleanrl_worker.policies import Policy
from cleanrl_worker.recording import Run
from cleanrl_worker.returns import explained_variance, generalised_advantages
from cleanrl_worker.schedules import linear_to_zero
from mosaic.contracts.parameters import param


@dataclass(frozen=True)
class Config:
    learning_rate: float = param(2.5e-4, "Learning rate of Adam.", range=(0, 1), group="optimiser")
    num_envs: int = param(8, "Environments stepped together.", range=(1, 65536), group="rollout")
    num_steps: int = param(
        128, "Steps of each environment in a rollout.", range=(1, None), group="rollout"
    )
    anneal_lr: bool = param(True, "Let the learning rate fall linearly to zero.", group="optimiser")
    gamma: float = param(0.99, "Discount.", range=(0, 1), group="returns")
    gae_lambda: float = param(0.95, "Lambda of the advantages.", range=(0, 1), group="returns")
    num_minibatches: int = param(
        4, "Minibatches of a rollout, of whole environments each.", range=(1, None), group="update"
    )
    update_epochs: int = param(4, "Passes over a rollout.", range=(1, None), group="update")
    norm_adv: bool = param(True, "Normalise advantages in each minibatch.", group="update")
    clip_coef: float = param(0.1, "Clip range of the ratio.", range=(0, None), group="loss")
    clip_vloss: bool = param(True, "Clip the value function's change too.", group="loss")
    ent_coef: float = param(0.01, "Weight of the entropy bonus.", range=(0, None), group="loss")
    vf_coef: float = param(0.5, "Weight of the value loss.", range=(0, None), group="loss")
    max_grad_norm: float = param(
        0.5, "Longest gradient; longer ones are scaled.", range=(0, None), group="optimiser"
    )
    target_kl: float | None = param(
        None, "End an update's epochs beyond this KL; null: never.", range=(0, None), group="update"
    )

    @property
    def batch_size(self) -> int:
        return self.num_envs * self.num_steps

    def check(self, total_timesteps: int) -> None:
        check_sequences(self.num_envs, self.num_steps, self.num_minibatches, total_timesteps)


def build(config: Config, envs: EnvBatch) -> nn.Module:
    """Make the agent that fits the environment's spaces."""
    return LSTMAgent(envs.observation_space, distribution_for(envs.action_space).outputs)


def act(
    advance: Advance, distribution: Distribution, obs: Array, noise: Array, state: State
) -> tuple[Array, Array, Array, State]:
    """Return sampled actions, the outputs they were drawn from, the values and the next state."""
    outputs, values, state = advance(obs, state)
    return distribution.sample(outputs, noise), outputs, values, state


class LSTMPolicy:
    """The agent's policy: most probable actions, or with a generator sampled ones."""

    def __init__(
        self, agent: nn.Module, action_space: gym.Space[object], device: torch.device
    ) -> None:
        self._advance, self._device = advancing(agent, device), device
        self._distribution = distribution_for(action_space)
        self._state: State | None = None

    def __call__(self, obs: Array, rng: np.random.Generator | None) -> Array:
        state = self._state or empty_state(len(obs), self._device)
        outputs, _, self._state = self._advance(obs, state)
        if rng is None:
            return self._distribution.mode(outputs)
        return self._distribution.sample(outputs, self._distribution.noise(rng, len(obs)))

    def forget(self) -> None:
        self._state = None


def policy(agent: nn.Module, action_space: gym.Space[object], device: torch.device) -> Policy:
    return LSTMPolicy(agent, action_space, device)


@dataclass(slots=True)
class Rollout:
    """One rollout, allocated once: arrays of [step, environment]. `state` is that it began with."""

    obs: Array
    actions: Array
    outputs: Array
    rewards: Array
    ends: Array
    values: Array
    state: State

    @classmethod
    def allocate(
        cls, config: Config, envs: EnvBatch, distribution: Distribution, device: torch.device
    ) -> Rollout:
        shape = (config.num_steps, config.num_envs)
        space = envs.observation_space
        return cls(
            obs=np.zeros((*shape, *space.shape), space.dtype),
            actions=np.zeros((*shape, *distribution.action_shape), distribution.action_dtype),
            outputs=np.zeros((*shape, distribution.outputs), np.float32),
            rewards=np.zeros(shape, np.float32),
            ends=np.zeros(shape, np.bool_),
            values=np.zeros(shape, np.float32),
            state=empty_state(config.num_envs, device),
        )


def storage_bytes(config: Config, envs: EnvBatch) -> int:
    """Return what a rollout takes in memory, once as stored and once as an update's batch."""
    rows = config.batch_size * (row_bytes(envs.observation_space) + 7 * 4)
    return 2 * (rows + config.num_envs * 2 * HIDDEN * 4)


@dataclass(frozen=True, slots=True)
class Batch:
    """The samples of an update: tensors of [step, environment], and the states they began with."""

    obs: Tensor
    actions: Tensor
    log_probs: Tensor
    advantages: Tensor
    returns: Tensor
    values: Tensor
    ends: Tensor
    state: State

    def sequences(self, index: Tensor) -> Batch:
        """Return the whole sequences of some environments."""
        hidden, cell = self.state
        return Batch(
            self.obs.index_select(1, index),
            self.actions.index_select(1, index),
            self.log_probs.index_select(1, index),
            self.advantages.index_select(1, index),
            self.returns.index_select(1, index),
            self.values.index_select(1, index),
            self.ends.index_select(1, index),
            (hidden.index_select(1, index), cell.index_select(1, index)),
        )


def collect(
    run: Run,
    envs: EnvBatch,
    advance: Advance,
    distribution: Distribution,
    rollout: Rollout,
    obs: Array,
    gamma: float,
) -> tuple[Array, State]:
    """Fill the rollout from `obs` and its own state on, and return those after it."""
    noise = distribution.noise(run.rng, *rollout.rewards.shape)
    state = rollout.state
    for t in range(len(rollout.rewards)):
        actions, rollout.outputs[t], rollout.values[t], state = act(
            advance, distribution, obs, noise[t], state
        )
        rollout.obs[t], rollout.actions[t] = obs, actions
        run.budget.lap("acting")
        step = envs.step(actions)
        run.budget.lap("environment")
        run.step += envs.num_envs
        rewards = step.rewards
        ended = step.terminated | step.truncated
        if ended.any():
            cut = step.truncated & ~step.terminated
            if cut.any():
                rewards = rewards + gamma * cut * advance(step.next_obs, state)[1]
            state = cleared(state, torch.from_numpy(ended).to(state[0].device))
            run.log_episodes(step.episodes)
        rollout.rewards[t], rollout.ends[t] = rewards, ended
        obs = step.obs
        if run.should_stop:
            break
    return obs, state


def to_batch(
    rollout: Rollout,
    last_values: Array,
    distribution: Distribution,
    config: Config,
    device: torch.device,
) -> Batch:
    """Turn the rollout into samples with advantages, returns and log probabilities."""
    advantages = generalised_advantages(
        rollout.rewards,
        rollout.values,
        rollout.ends,
        last_values,
        gamma=config.gamma,
        gae_lambda=config.gae_lambda,
    )

    def tensor(array: Array) -> Tensor:
        return torch.from_numpy(array).to(device)

    actions, outputs = tensor(rollout.actions), tensor(rollout.outputs)
    log_probs = distribution.log_prob(outputs.flatten(0, 1), actions.flatten(0, 1))
    return Batch(
        tensor(rollout.obs),
        actions,
        log_probs.view(rollout.rewards.shape),
        tensor(advantages),
        tensor(advantages + rollout.values),
        tensor(rollout.values),
        tensor(rollout.ends),
        rollout.state,
    )


def loss(
    distribution: Distribution, outputs: Tensor, values: Tensor, batch: Batch, config: Config
) -> tuple[Tensor, dict[str, Tensor]]:
    """Return the loss of some sequences, and its parts without their gradients.

    The network is left outside: where episodes end decides what it computes, so that a compiler
    would begin anew with every minibatch.
    """
    log_probs, entropies = distribution.log_prob_and_entropy(
        outputs.flatten(0, 1), batch.actions.flatten(0, 1)
    )
    log_ratio = log_probs - batch.log_probs.flatten()
    ratio = log_ratio.exp()

    advantages = batch.advantages.flatten()
    if config.norm_adv:
        advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    clipped = ratio.clamp(1 - config.clip_coef, 1 + config.clip_coef)
    policy_loss = -torch.min(advantages * ratio, advantages * clipped).mean()

    value_error = (values - batch.returns).square()
    if config.clip_vloss:
        change = (values - batch.values).clamp(-config.clip_coef, config.clip_coef)
        value_error = torch.max(value_error, (batch.values + change - batch.returns).square())
    value_loss = 0.5 * value_error.mean()

    entropy = entropies.mean()
    total = policy_loss - config.ent_coef * entropy + config.vf_coef * value_loss
    parts = {
        "policy_loss": policy_loss.detach(),
        "value_loss": value_loss.detach(),
        "entropy": entropy.detach(),
        "log_ratio": log_ratio.detach(),
    }
    return total, parts


def update(
    run: Run,
    agent: nn.Module,
    distribution: Distribution,
    optimizer: Adam,
    batch: Batch,
    config: Config,
) -> dict[str, float]:
    """Take the epochs of gradient steps over one batch, and return what CleanRL logs of them."""
    loss_of = run.compiled(loss)
    log_ratios: list[Tensor] = []
    parts: dict[str, Tensor] = {}
    approx_kl = 0.0
    for _ in range(config.update_epochs):
        order = torch.from_numpy(run.rng.permutation(config.num_envs)).to(batch.obs.device)
        for index in order.split(config.num_envs // config.num_minibatches):
            if run.should_stop:
                return {}
            rows = batch.sequences(index)
            outputs, values, _ = agent(rows.obs, rows.state, rows.ends)
            total, parts = loss_of(distribution, outputs, values, rows, config)
            optimizer.descend(total)
            log_ratios.append(parts["log_ratio"])
        log_ratio = parts["log_ratio"]
        approx_kl = float((log_ratio.exp() - 1 - log_ratio).mean())
        if config.target_kl is not None and approx_kl > config.target_kl:
            break
    clipped = (torch.cat(log_ratios).exp() - 1).abs() > config.clip_coef
    return {
        "losses/value_loss": float(parts["value_loss"]),
        "losses/policy_loss": float(parts["policy_loss"]),
        "losses/entropy": float(parts["entropy"]),
        "losses/old_approx_kl": float(-parts["log_ratio"].mean()),
        "losses/approx_kl": approx_kl,
        "losses/clipfrac": float(clipped.float().mean()),
        "losses/explained_variance": explained_variance(batch.values, batch.returns),
    }


def train(run: Run, config: Config, envs: EnvBatch, agent: nn.Module, device: torch.device) -> None:
    optimizer = Adam(
        agent.parameters(),
        config.learning_rate,
        eps=1e-5,
        max_grad_norm=config.max_grad_norm,
    )
    distribution = distribution_for(envs.action_space)
    advance = advancing(agent, device)
    rollout = Rollout.allocate(config, envs, distribution, device)
    obs = run.begin(envs, agent=agent, optimizer=optimizer)
    iterations = run.total_timesteps // config.batch_size
    for iteration in range(run.step // config.batch_size, iterations):
        rate = config.learning_rate
        if config.anneal_lr:
            rate = linear_to_zero(rate, iteration, iterations)
        optimizer.learning_rate = rate
        obs, state = collect(run, envs, advance, distribution, rollout, obs, config.gamma)
        if run.should_stop:
            return
        batch = to_batch(rollout, advance(obs, state)[1], distribution, config, device)
        losses = update(run, agent, distribution, optimizer, batch, config)
        if not losses:
            return
        run.budget.lap("learning")
        run.log_update({"charts/learning_rate": rate, **losses})
        obs = run.boundary(envs, obs)
        rollout.state = empty_state(config.num_envs, device) if run.has_cut else state
