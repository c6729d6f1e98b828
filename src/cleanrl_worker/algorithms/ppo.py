"""Proximal policy optimisation (Schulman et al. 2017).

Implemented: the clipped surrogate, GAE, value clipping, entropy bonus, annealed learning rate,
advantages normalised by minibatch, early stopping by KL; CleanRL's `ppo`, `ppo_atari`,
`ppo_atari_envpool`, `ppo_procgen`, `ppo_pettingzoo_ma_atari` and `ppo_continuous_action` by
defaults and tags.
With `rpo_alpha`: robust policy optimisation (Rahman and Xue 2022), which perturbs the means of a
Gaussian policy in updates.
Changed: a truncated episode is bootstrapped from its last observation instead of being treated as
terminated, and environments are reset in the step in which they end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor, nn

from cleanrl_worker.agents.build import build_actor_critic
from cleanrl_worker.agents.inference import Forward, inference
from cleanrl_worker.agents.layout import laid_out, pick_rows
from cleanrl_worker.algorithms.batches import check_batches
from cleanrl_worker.compiling import Compiler
from cleanrl_worker.distributions import Distribution, distribution_for, perturb_means
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
    num_envs: int = param(4, "Environments stepped together.", range=(1, 65536), group="rollout")
    num_steps: int = param(
        128, "Steps of each environment in a rollout.", range=(1, None), group="rollout"
    )
    anneal_lr: bool = param(True, "Let the learning rate fall linearly to zero.", group="optimiser")
    gamma: float = param(0.99, "Discount.", range=(0, 1), group="returns")
    gae_lambda: float = param(0.95, "Lambda of the advantages.", range=(0, 1), group="returns")
    num_minibatches: int = param(4, "Minibatches of a rollout.", range=(1, None), group="update")
    update_epochs: int = param(4, "Passes over a rollout.", range=(1, None), group="update")
    norm_adv: bool = param(True, "Normalise advantages in each minibatch.", group="update")
    clip_coef: float = param(0.2, "Clip range of the ratio.", range=(0, None), group="loss")
    clip_vloss: bool = param(True, "Clip the value function's change too.", group="loss")
    ent_coef: float = param(0.01, "Weight of the entropy bonus.", range=(0, None), group="loss")
    vf_coef: float = param(0.5, "Weight of the value loss.", range=(0, None), group="loss")
    max_grad_norm: float = param(
        0.5, "Longest gradient; longer ones are scaled.", range=(0, None), group="optimiser"
    )
    target_kl: float | None = param(
        None, "End an update's epochs beyond this KL; null: never.", range=(0, None), group="update"
    )
    rpo_alpha: float = param(
        0.0, "Half width of the noise on means in updates (RPO).", range=(0, None), group="loss"
    )
    shared_trunk: bool = param(
        False, "Let actor and critic share their hidden layers.", group="network"
    )

    @property
    def batch_size(self) -> int:
        return self.num_envs * self.num_steps

    def check(self, total_timesteps: int) -> None:
        check_batches(self.num_envs, self.num_steps, self.num_minibatches, total_timesteps)


def build(config: Config, envs: EnvBatch) -> nn.Module:
    """Make the agent that fits the environment's spaces."""
    return build_actor_critic(
        envs.observation_space, envs.action_space, shared_trunk=config.shared_trunk
    )


def act(
    forward: Forward, distribution: Distribution, obs: Array, noise: Array
) -> tuple[Array, Array, Array]:
    """Return sampled actions, the outputs they were drawn from, and the values."""
    outputs, values = forward(obs)
    return distribution.sample(outputs, noise), outputs, values


def policy(agent: nn.Module, action_space: gym.Space[object], device: torch.device) -> Policy:
    """Return the agent's policy: most probable actions, or with a generator sampled ones."""
    forward, distribution = inference(agent, device), distribution_for(action_space)

    def choose(obs: Array, rng: np.random.Generator | None) -> Array:
        outputs, _ = forward(obs)
        if rng is None:
            return distribution.mode(outputs)
        return distribution.sample(outputs, distribution.noise(rng, len(obs)))

    return choose


@dataclass(slots=True)
class Rollout:
    """One rollout, allocated once: arrays of [step, environment]."""

    obs: Array
    actions: Array
    outputs: Array
    rewards: Array
    ends: Array
    values: Array

    @classmethod
    def allocate(cls, config: Config, envs: EnvBatch, distribution: Distribution) -> Rollout:
        shape = (config.num_steps, config.num_envs)
        space = envs.observation_space
        return cls(
            obs=np.zeros((*shape, *space.shape), space.dtype),
            actions=np.zeros((*shape, *distribution.action_shape), distribution.action_dtype),
            outputs=np.zeros((*shape, distribution.outputs), np.float32),
            rewards=np.zeros(shape, np.float32),
            ends=np.zeros(shape, np.bool_),
            values=np.zeros(shape, np.float32),
        )


def storage_bytes(config: Config, envs: EnvBatch) -> int:
    """Return what a rollout takes in memory, once as stored and once as an update's batch."""
    return 2 * config.batch_size * (row_bytes(envs.observation_space) + 6 * 4)


@dataclass(frozen=True, slots=True)
class Batch:
    """The samples of an update, one row each."""

    obs: Tensor
    actions: Tensor
    log_probs: Tensor
    advantages: Tensor
    returns: Tensor
    values: Tensor

    def rows(self, index: Tensor) -> Batch:
        return Batch(
            pick_rows(self.obs, index),
            self.actions.index_select(0, index),
            self.log_probs.index_select(0, index),
            self.advantages.index_select(0, index),
            self.returns.index_select(0, index),
            self.values.index_select(0, index),
        )


def collect(
    run: Run,
    envs: EnvBatch,
    forward: Forward,
    distribution: Distribution,
    rollout: Rollout,
    obs: Array,
    gamma: float,
) -> Array:
    """Fill the rollout from `obs` on, and return the observations after it."""
    noise = distribution.noise(run.rng, *rollout.rewards.shape)
    for t in range(len(rollout.rewards)):
        actions, rollout.outputs[t], rollout.values[t] = act(forward, distribution, obs, noise[t])
        rollout.obs[t], rollout.actions[t] = obs, actions
        run.budget.lap("acting")
        step = envs.step(actions)
        run.budget.lap("environment")
        run.step += envs.num_envs * run.group.size
        rewards = step.rewards
        if step.episodes:
            cut = step.truncated & ~step.terminated
            if cut.any():
                rewards = rewards + gamma * cut * forward(step.next_obs)[1]
            run.log_episodes(step.episodes)
        rollout.rewards[t] = rewards
        rollout.ends[t] = step.terminated | step.truncated
        obs = step.obs
        if run.should_stop:
            break
    return obs


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

    def flat(array: Array) -> Tensor:
        return torch.from_numpy(array.reshape(-1, *array.shape[2:])).to(device)

    actions = flat(rollout.actions)
    return Batch(
        laid_out(flat(rollout.obs)),
        actions,
        distribution.log_prob(flat(rollout.outputs), actions),
        flat(advantages),
        flat(advantages + rollout.values),
        flat(rollout.values),
    )


def loss(
    agent: nn.Module, distribution: Distribution, batch: Batch, config: Config
) -> tuple[Tensor, dict[str, Tensor]]:
    """Return the loss of a minibatch, and its parts without their gradients."""
    outputs, values = agent(batch.obs)
    if config.rpo_alpha:
        outputs = perturb_means(outputs, config.rpo_alpha)
    log_probs, entropies = distribution.log_prob_and_entropy(outputs, batch.actions)
    log_ratio = log_probs - batch.log_probs
    ratio = log_ratio.exp()

    advantages = batch.advantages
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


def descend(
    agent: nn.Module,
    distribution: Distribution,
    optimizer: Adam,
    compiled: Compiler,
    config: Config,
    minibatch: Batch,
) -> dict[str, Tensor]:
    """Take one gradient step, and return the parts of the loss before it."""
    total, parts = compiled(loss)(agent, distribution, minibatch, config)
    optimizer.descend(total)
    return parts


def update(
    run: Run, learn: Callable[[Batch], dict[str, Tensor]], batch: Batch, config: Config
) -> dict[str, float]:
    """Take the epochs of gradient steps over one batch, and return what CleanRL logs of them."""
    minibatch_size = config.batch_size // config.num_minibatches
    log_ratios: list[Tensor] = []
    parts: dict[str, Tensor] = {}
    approx_kl = 0.0
    for _ in range(config.update_epochs):
        order = torch.from_numpy(run.rng.permutation(config.batch_size)).to(batch.obs.device)
        for index in order.split(minibatch_size):
            if run.should_stop:
                return {}
            parts = learn(batch.rows(index))
            log_ratios.append(parts["log_ratio"].clone())  # a graph's next replay writes there
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
    learn = run.compiled.whole(
        partial(descend, agent, distribution, optimizer, run.compiled, config)
    )
    forward = inference(agent, device)
    rollout = Rollout.allocate(config, envs, distribution)
    obs = run.begin(envs, agent=agent, optimizer=optimizer)
    iterations = run.total_timesteps // config.batch_size
    for iteration in range(run.step // config.batch_size, iterations):
        rate = config.learning_rate
        if config.anneal_lr:
            rate = linear_to_zero(rate, iteration, iterations)
        optimizer.learning_rate = rate
        obs = collect(run, envs, forward, distribution, rollout, obs, config.gamma)
        if run.should_stop:
            return
        batch = to_batch(rollout, forward(obs)[1], distribution, config, device)
        losses = update(run, learn, batch, config)
        if not losses:
            return
        run.budget.lap("learning")
        run.log_update({"charts/learning_rate": rate, **losses})
        obs = run.boundary(envs, obs)
