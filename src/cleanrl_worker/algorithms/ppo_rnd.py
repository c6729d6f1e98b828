"""Proximal policy optimisation with random network distillation (Burda et al. 2019).

Implemented: PPO as in `ppo`, paid by the environment and for seeing what is new. How new an
observation is, is the error with which a predictor foretells a random network's features of it;
both see the last picture of a stack, or flat numbers, at one scale and within five standard
deviations. Intrinsic rewards are divided by the standard deviation of their discounted sum. Each
kind of reward has its own discount and value, and intrinsic returns do not end with an episode.
CleanRL's `ppo_rnd_envpool` by names, defaults and tags; beside Atari's pictures it takes MiniGrid's
views and flat observations.
Changed: a truncated episode's extrinsic return is bootstrapped, and what an action led to is judged
as it was, not the first observation of the next episode; the discounted sum of intrinsic rewards
runs along time, where CleanRL's runs across environments; the predictor learns from what was
judged; `charts/episode_curiosity_reward` is the sum of an episode, where CleanRL's is its last
step; the scale's random steps are not kept in memory. Actions stick where the id says so (`ALE/`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import chain

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor, nn

from cleanrl_worker.agents.distillation import Distillation, TwoValuesAgent, seen_part, seen_shape
from cleanrl_worker.agents.inference import Forward, Infer, inference
from cleanrl_worker.agents.layout import laid_out, pick_rows
from cleanrl_worker.algorithms import ppo
from cleanrl_worker.algorithms.ppo import act, policy
from cleanrl_worker.compiling import Compiler
from cleanrl_worker.curiosity import CuriosityScales
from cleanrl_worker.distributions import Distribution, distribution_for
from cleanrl_worker.envs.observations import Array, row_bytes
from cleanrl_worker.envs.vector import EnvBatch
from cleanrl_worker.optimisers import Adam
from cleanrl_worker.recording import Run
from cleanrl_worker.returns import generalised_advantages
from cleanrl_worker.schedules import linear_to_zero
from mosaic.contracts.parameters import param

__all__ = ["Config", "build", "policy", "storage_bytes", "train"]


@dataclass(frozen=True)
class Config(ppo.Config):
    """PPO's, whose `gamma` is that of extrinsic returns."""

    update_proportion: float = param(
        0.25, "Share of samples that the predictor learns from.", range=(0, 1), group="exploration"
    )
    int_coef: float = param(
        1.0, "Weight of intrinsic advantages.", range=(0, None), group="exploration"
    )
    ext_coef: float = param(
        2.0, "Weight of extrinsic advantages.", range=(0, None), group="exploration"
    )
    int_gamma: float = param(0.99, "Discount of intrinsic rewards.", range=(0, 1), group="returns")
    num_iterations_obs_norm_init: int = param(
        50,
        "Rollouts of random steps, beside the run's own, from which observations get their scale.",
        range=(0, None),
        group="exploration",
    )


def build(config: Config, envs: EnvBatch) -> nn.Module:
    """Make the agent that fits the environment's spaces."""
    return TwoValuesAgent(envs.observation_space, distribution_for(envs.action_space).outputs)


def judge(distillation: Distillation, device: torch.device) -> Infer:
    """Return a function from what is seen to how new it is: half the sum of squared errors."""

    def novelty(seen: Array) -> Array:
        with torch.inference_mode():
            errors = distillation(torch.from_numpy(seen).to(device))
        halved: Array = (0.5 * errors.sum(-1)).cpu().numpy()
        return halved

    return novelty


@dataclass(slots=True)
class Rollout:
    """One rollout, allocated once: arrays of [step, environment]; values are pairs.

    `seen` is what each action led to, `novelty` how new that was. `totals` are the novelty of each
    environment's episode so far.
    """

    obs: Array
    seen: Array
    actions: Array
    outputs: Array
    rewards: Array
    novelty: Array
    ends: Array
    values: Array
    totals: Array = field(init=False)

    def __post_init__(self) -> None:
        self.totals = np.zeros(self.rewards.shape[1])

    @classmethod
    def allocate(cls, config: Config, envs: EnvBatch, distribution: Distribution) -> Rollout:
        shape = (config.num_steps, config.num_envs)
        space = envs.observation_space
        return cls(
            obs=np.zeros((*shape, *space.shape), space.dtype),
            seen=np.zeros((*shape, *seen_shape(space)), space.dtype),
            actions=np.zeros((*shape, *distribution.action_shape), distribution.action_dtype),
            outputs=np.zeros((*shape, distribution.outputs), np.float32),
            rewards=np.zeros(shape, np.float32),
            novelty=np.zeros(shape, np.float32),
            ends=np.zeros(shape, np.bool_),
            values=np.zeros((*shape, 2), np.float32),
        )


def storage_bytes(config: Config, envs: EnvBatch) -> int:
    """Return what a rollout takes in memory, once as stored and once as an update's batch."""
    return 2 * config.batch_size * (2 * row_bytes(envs.observation_space) + 10 * 4)


@dataclass(frozen=True, slots=True)
class Batch:
    """The samples of an update, one row each; values and returns are pairs.

    `is_taught` are the samples that the predictor learns from.
    """

    obs: Tensor
    seen: Tensor
    actions: Tensor
    log_probs: Tensor
    advantages: Tensor
    returns: Tensor
    values: Tensor
    is_taught: Tensor

    def rows(self, index: Tensor, is_taught: Tensor) -> Batch:
        return Batch(
            pick_rows(self.obs, index),
            self.seen.index_select(0, index),
            self.actions.index_select(0, index),
            self.log_probs.index_select(0, index),
            self.advantages.index_select(0, index),
            self.returns.index_select(0, index),
            self.values.index_select(0, index),
            is_taught,
        )


def look_around(
    run: Run,
    envs: EnvBatch,
    scales: CuriosityScales,
    obs: Array,
    steps: int,
    shape: tuple[int, ...],
) -> Array:
    """Act at random, so that observations have a scale, and return the ones to go on from."""
    space = envs.action_space
    assert isinstance(space, gym.spaces.Discrete), space
    for _ in range(steps):
        if run.should_stop:
            break
        step = envs.step(run.rng.integers(int(space.n), size=envs.num_envs))
        scales.look(seen_part(step.next_obs, shape))
        obs = step.obs
    return obs


def collect(
    run: Run,
    envs: EnvBatch,
    forward: Forward,
    novelty: Infer,
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
        run.step += envs.num_envs
        rollout.seen[t] = seen_part(step.next_obs, rollout.seen.shape[2:])
        rollout.novelty[t] = novelty(rollout.seen[t])
        rollout.totals += rollout.novelty[t]
        rewards = step.rewards
        ended = step.terminated | step.truncated
        cut = step.truncated & ~step.terminated
        if cut.any():
            rewards = rewards + gamma * cut * forward(step.next_obs)[1][:, 0]
        run.log_episodes(step.episodes)
        for episode in step.episodes:
            run.log({"charts/episode_curiosity_reward": rollout.totals[episode.env]})
            rollout.totals[episode.env] = 0.0
        rollout.rewards[t], rollout.ends[t] = rewards, ended
        obs = step.obs
        if run.should_stop:
            break
    return obs


def estimate(
    rollout: Rollout, intrinsic: Array, last_values: Array, config: Config
) -> tuple[Array, Array]:
    """Return the weighted advantages, and the pairs of returns.

    An episode's end is none for intrinsic rewards: what is new stays so in the next one, and an
    agent that lost it by dying would be afraid to explore.
    """
    extrinsic = generalised_advantages(
        rollout.rewards,
        rollout.values[..., 0],
        rollout.ends,
        last_values[:, 0],
        gamma=config.gamma,
        gae_lambda=config.gae_lambda,
    )
    curious = generalised_advantages(
        intrinsic,
        rollout.values[..., 1],
        np.zeros_like(rollout.ends),
        last_values[:, 1],
        gamma=config.int_gamma,
        gae_lambda=config.gae_lambda,
    )
    returns = np.stack((extrinsic, curious), -1) + rollout.values
    return config.ext_coef * extrinsic + config.int_coef * curious, returns


def to_batch(
    rollout: Rollout,
    intrinsic: Array,
    last_values: Array,
    distribution: Distribution,
    config: Config,
    device: torch.device,
) -> Batch:
    """Turn the rollout into samples with advantages, returns and log probabilities."""
    advantages, returns = estimate(rollout, intrinsic, last_values, config)

    def flat(array: Array) -> Tensor:
        return torch.from_numpy(array.reshape(-1, *array.shape[2:])).to(device)

    actions = flat(rollout.actions)
    return Batch(
        laid_out(flat(rollout.obs)),
        flat(rollout.seen),
        actions,
        distribution.log_prob(flat(rollout.outputs), actions),
        flat(advantages),
        flat(returns),
        flat(rollout.values),
        flat(np.ones_like(rollout.ends)),
    )


def loss(
    agent: nn.Module,
    distillation: Distillation,
    distribution: Distribution,
    batch: Batch,
    config: Config,
) -> tuple[Tensor, dict[str, Tensor]]:
    """Return the loss of a minibatch, and its parts without their gradients."""
    outputs, values = agent(batch.obs)
    log_probs, entropies = distribution.log_prob_and_entropy(outputs, batch.actions)
    log_ratio = log_probs - batch.log_probs
    ratio = log_ratio.exp()

    advantages = batch.advantages
    if config.norm_adv:
        advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    clipped = ratio.clamp(1 - config.clip_coef, 1 + config.clip_coef)
    policy_loss = -torch.min(advantages * ratio, advantages * clipped).mean()

    errors = (values - batch.returns).square()
    extrinsic = errors[:, 0]
    if config.clip_vloss:
        change = (values - batch.values)[:, 0].clamp(-config.clip_coef, config.clip_coef)
        from_clipped = batch.values[:, 0] + change - batch.returns[:, 0]
        extrinsic = torch.max(extrinsic, from_clipped.square())
    value_loss = 0.5 * extrinsic.mean() + 0.5 * errors[:, 1].mean()

    taught = batch.is_taught.float()
    prediction_errors = distillation(batch.seen).mean(-1)
    forward_loss = (prediction_errors * taught).sum() / taught.sum().clamp(min=1.0)

    entropy = entropies.mean()
    total = policy_loss - config.ent_coef * entropy + config.vf_coef * value_loss + forward_loss
    parts = {
        "policy_loss": policy_loss.detach(),
        "value_loss": value_loss.detach(),
        "entropy": entropy.detach(),
        "fwd_loss": forward_loss.detach(),
        "log_ratio": log_ratio.detach(),
    }
    return total, parts


def descend(
    agent: nn.Module,
    distillation: Distillation,
    distribution: Distribution,
    optimizer: Adam,
    compiled: Compiler,
    config: Config,
    minibatch: Batch,
) -> dict[str, Tensor]:
    """Take one gradient step, and return the parts of the loss before it."""
    total, parts = compiled(loss)(agent, distillation, distribution, minibatch, config)
    optimizer.descend(total)
    return parts


def update(
    run: Run, learn: Callable[[Batch], dict[str, Tensor]], batch: Batch, config: Config
) -> dict[str, float]:
    """Take the epochs of gradient steps over one batch, and return what CleanRL logs of them."""
    device = batch.obs.device
    parts: dict[str, Tensor] = {}
    approx_kl = 0.0
    for _ in range(config.update_epochs):
        order = torch.from_numpy(run.rng.permutation(config.batch_size)).to(device)
        for index in order.split(config.batch_size // config.num_minibatches):
            if run.should_stop:
                return {}
            taught = torch.from_numpy(run.rng.random(len(index)) < config.update_proportion)
            parts = learn(batch.rows(index, taught.to(device)))
        log_ratio = parts["log_ratio"]
        approx_kl = float((log_ratio.exp() - 1 - log_ratio).mean())
        if config.target_kl is not None and approx_kl > config.target_kl:
            break
    return {
        "losses/value_loss": float(parts["value_loss"]),
        "losses/policy_loss": float(parts["policy_loss"]),
        "losses/entropy": float(parts["entropy"]),
        "losses/old_approx_kl": float(-parts["log_ratio"].mean()),
        "losses/fwd_loss": float(parts["fwd_loss"]),
        "losses/approx_kl": approx_kl,
    }


def train(run: Run, config: Config, envs: EnvBatch, agent: nn.Module, device: torch.device) -> None:
    distillation = Distillation(envs.observation_space).to(device)
    optimizer = Adam(
        chain(agent.parameters(), distillation.predictor.parameters()),
        config.learning_rate,
        eps=1e-5,
        max_grad_norm=config.max_grad_norm,
    )
    distribution = distribution_for(envs.action_space)
    learn = run.compiled.whole(
        partial(descend, agent, distillation, distribution, optimizer, run.compiled, config)
    )
    forward, novelty = inference(agent, device), judge(distillation, device)
    rollout = Rollout.allocate(config, envs, distribution)
    scales = CuriosityScales(distillation.shape, config.num_envs, config.int_gamma)
    obs = run.begin(
        envs, agent=agent, optimizer=optimizer, distillation=distillation, scales=scales
    )
    if run.step == 0:
        steps = config.num_iterations_obs_norm_init * config.num_steps
        obs = look_around(run, envs, scales, obs, steps, distillation.shape)
        distillation.set_scale(*scales.of_seen())
    iterations = run.total_timesteps // config.batch_size
    for iteration in range(run.step // config.batch_size, iterations):
        rate = config.learning_rate
        if config.anneal_lr:
            rate = linear_to_zero(rate, iteration, iterations)
        optimizer.learning_rate = rate
        obs = collect(run, envs, forward, novelty, distribution, rollout, obs, config.gamma)
        if run.should_stop:
            return
        intrinsic = scales.normalised(rollout.novelty)
        for seen in rollout.seen:
            scales.look(seen)
        distillation.set_scale(*scales.of_seen())
        batch = to_batch(rollout, intrinsic, forward(obs)[1], distribution, config, device)
        losses = update(run, learn, batch, config)
        if not losses:
            return
        run.budget.lap("learning")
        run.log_update({"charts/learning_rate": rate, **losses})
        obs = run.boundary(envs, obs)
        if run.has_cut:
            rollout.totals[:] = 0.0
