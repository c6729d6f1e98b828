"""Phasic policy gradient (Cobbe et al. 2021).

Implemented: a policy phase of PPO, as in `ppo`, in which the critic's gradients do not reach the
encoder, then an auxiliary phase over all rollouts of it, in which the encoder learns to foretell
returns through a value head of its own while the policy is held where it was by its KL divergence
from what it gave before (behaviour cloning), and the critic learns from the same returns; the
authors' initial weights; CleanRL's `ppg_procgen` by names, defaults and tags.
Changed: a truncated episode is bootstrapped; the learning rate is annealed over all updates, where
CleanRL's begins anew in every phase; an auxiliary phase begins without the last gradient of the
policy phase, and gradients of several minibatches are added up within an epoch only, as their mean;
one Adam serves both phases, whose momentum CleanRL's auxiliary head does not feel in policy phases.
Dropped: policy and value epochs of different numbers, which CleanRL refuses too. A budget that is
no whole number of phases ends with the last whole one, as CleanRL's does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import log_softmax

from cleanrl_worker.agents.inference import Forward, inference
from cleanrl_worker.agents.layout import laid_out
from cleanrl_worker.agents.phasic import PhasicAgent
from cleanrl_worker.algorithms import ppo
from cleanrl_worker.algorithms.ppo import Rollout, collect, policy, to_batch, update
from cleanrl_worker.compiling import Compiler
from cleanrl_worker.distributions import Distribution, distribution_for
from cleanrl_worker.envs.observations import Array, row_bytes
from cleanrl_worker.envs.vector import EnvBatch
from cleanrl_worker.optimisers import Adam
from cleanrl_worker.recording import Run
from cleanrl_worker.schedules import linear_to_zero
from mosaic.contracts.errors import ConfigError
from mosaic.contracts.parameters import param

__all__ = ["Config", "build", "policy", "storage_bytes", "train"]


@dataclass(frozen=True)
class Config(ppo.Config):
    """PPO's, but for how often it learns from a rollout and how advantages are normalised."""

    adv_norm_fullbatch: bool = param(
        True, "Normalise advantages over a whole rollout.", group="update"
    )
    n_iteration: int = param(
        32, "Rollouts, each with its update, in a policy phase.", range=(1, None), group="update"
    )
    e_policy: int = param(
        1, "Passes over a rollout in a policy phase.", range=(1, None), group="update"
    )
    v_value: int = param(
        1, "Passes of the critic: those of the policy serve both.", range=(1, 1), group="update"
    )
    e_auxiliary: int = param(
        6, "Passes over a phase's rollouts in its auxiliary phase.", range=(1, None), group="update"
    )
    beta_clone: float = param(
        1.0, "Weight of staying with the policy in it.", range=(0, None), group="loss"
    )
    num_aux_rollouts: int = param(
        4, "Rollouts of one environment in a minibatch of it.", range=(1, None), group="update"
    )
    n_aux_grad_accum: int = param(
        1,
        "Minibatches of it whose gradients make one step; more take less memory than larger ones.",
        range=(1, None),
        group="update",
    )

    @property
    def phase_steps(self) -> int:
        return self.batch_size * self.n_iteration

    @property
    def aux_batch_rollouts(self) -> int:
        return self.num_envs * self.n_iteration

    @property
    def of_policy(self) -> ppo.Config:
        """Return what PPO is told in a policy phase."""
        shared = {each.name: getattr(self, each.name) for each in fields(ppo.Config)}
        return ppo.Config(**shared | {"update_epochs": self.e_policy, "norm_adv": False})

    def check(self, total_timesteps: int) -> None:
        super().check(total_timesteps)
        if total_timesteps < self.phase_steps:
            raise ConfigError(
                f"total_timesteps={total_timesteps} is smaller than one phase of "
                f"{self.phase_steps} steps ({self.n_iteration} iterations x {self.batch_size} "
                f"steps). Use at least {self.phase_steps}, or a smaller n_iteration."
            )


def build(config: Config, envs: EnvBatch) -> PhasicAgent:
    """Make the agent that fits the environment's spaces."""
    return PhasicAgent(envs.observation_space, distribution_for(envs.action_space).outputs)


@dataclass(frozen=True, slots=True)
class Batch:
    """The samples of an auxiliary update, one row each; `outputs` are what the actor once gave."""

    obs: Tensor
    returns: Tensor
    outputs: Tensor


@dataclass(slots=True)
class Phase:
    """The rollouts of a policy phase, allocated once: arrays of [rollout, step]."""

    obs: Array
    returns: Array
    outputs: Array

    @classmethod
    def allocate(cls, config: Config, envs: EnvBatch, distribution: Distribution) -> Phase:
        shape = (config.aux_batch_rollouts, config.num_steps)
        space = envs.observation_space
        return cls(
            obs=np.zeros((*shape, *space.shape), space.dtype),
            returns=np.zeros(shape, np.float32),
            outputs=np.zeros((*shape, distribution.outputs), np.float32),
        )

    def keep(self, iteration: int, rollout: Rollout, returns: Tensor) -> None:
        """Take in the rollout of an iteration, environment by environment."""
        steps, envs = rollout.rewards.shape
        rows = slice(iteration * envs, (iteration + 1) * envs)
        self.obs[rows] = rollout.obs.swapaxes(0, 1)
        self.returns[rows] = returns.cpu().numpy().reshape(steps, envs).swapaxes(0, 1)

    def ask(self, forward: Forward, index: Array) -> None:
        """Note what the actor gives for these rollouts now."""
        obs = self.obs[index]
        outputs, _ = forward(obs.reshape(-1, *obs.shape[2:]))
        self.outputs[index] = outputs.reshape(*obs.shape[:2], -1)

    def rows(self, index: Array, device: torch.device) -> Batch:
        """Return all samples of these rollouts."""

        def flat(array: Array) -> Tensor:
            return torch.from_numpy(array[index]).flatten(0, 1).to(device)

        return Batch(laid_out(flat(self.obs)), flat(self.returns), flat(self.outputs))


def storage_bytes(config: Config, envs: EnvBatch) -> int:
    """Return what the rollouts of a phase, and the last of them as PPO's, take in memory."""
    samples = config.aux_batch_rollouts * config.num_steps
    numbers = 1 + distribution_for(envs.action_space).outputs
    row = row_bytes(envs.observation_space) + 4 * numbers
    return samples * row + ppo.storage_bytes(config, envs)


def auxiliary_loss(
    agent: PhasicAgent, batch: Batch, config: Config
) -> tuple[Tensor, dict[str, Tensor]]:
    """Return the loss of an auxiliary minibatch, and its parts without their gradients."""
    outputs, values, auxiliary = agent.with_auxiliary(batch.obs)
    before, now = log_softmax(batch.outputs, -1), log_softmax(outputs, -1)
    kl_loss = (before.exp() * (before - now)).sum(-1).mean()
    aux_value_loss = 0.5 * (auxiliary - batch.returns).square().mean()
    real_value_loss = 0.5 * (values - batch.returns).square().mean()
    total = aux_value_loss + config.beta_clone * kl_loss + real_value_loss
    parts = {
        "kl_loss": kl_loss.detach(),
        "aux_value_loss": aux_value_loss.detach(),
        "real_value_loss": real_value_loss.detach(),
    }
    return total, parts


def add_gradients(
    agent: PhasicAgent, compiled: Compiler, config: Config, batch: Batch, *, parts_of_step: int
) -> dict[str, Tensor]:
    """Add a minibatch's share of a step to the gradients, and return the parts of its loss."""
    total, parts = compiled(auxiliary_loss)(agent, batch, config)
    (total / parts_of_step).backward()
    return parts


def policy_phase(
    run: Run,
    config: Config,
    envs: EnvBatch,
    agent: PhasicAgent,
    distribution: Distribution,
    optimizer: Adam,
    learn: Callable[[ppo.Batch], dict[str, Tensor]],
    rollout: Rollout,
    phase: Phase,
    obs: Array,
    device: torch.device,
) -> Array | None:
    """Take the iterations of PPO, and return the observations after them; None where it stops."""
    forward, settings = inference(agent, device), config.of_policy
    iterations = run.total_timesteps // config.phase_steps * config.n_iteration
    for iteration in range(config.n_iteration):
        rate = config.learning_rate
        if config.anneal_lr:
            rate = linear_to_zero(rate, run.step // config.batch_size, iterations)
        optimizer.learning_rate = rate
        obs = collect(run, envs, forward, distribution, rollout, obs, config.gamma)
        if run.should_stop:
            return None
        batch = to_batch(rollout, forward(obs)[1], distribution, settings, device)
        phase.keep(iteration, rollout, batch.returns)
        if config.adv_norm_fullbatch:
            advantages = batch.advantages
            centred = advantages - advantages.mean()
            batch = replace(batch, advantages=centred / (advantages.std() + 1e-8))
        losses = update(run, learn, batch, settings)
        if not losses:
            return None
        run.budget.lap("learning")
        run.log_update({"charts/learning_rate": rate, **losses})
    return obs


def auxiliary_phase(
    run: Run,
    config: Config,
    agent: PhasicAgent,
    optimizer: Adam,
    learn: Callable[..., dict[str, Tensor]],
    phase: Phase,
    device: torch.device,
) -> dict[str, float]:
    """Take the epochs over a phase's rollouts, and return what CleanRL logs of them."""
    forward = inference(agent, device)
    for index in in_parts(np.arange(config.aux_batch_rollouts), config.num_aux_rollouts):
        if run.should_stop:
            return {}
        phase.ask(forward, index)
    parts: dict[str, Tensor] = {}
    for _ in range(config.e_auxiliary):
        order = run.rng.permutation(config.aux_batch_rollouts)
        for group in in_parts(order, config.num_aux_rollouts * config.n_aux_grad_accum):
            minibatches = list(in_parts(group, config.num_aux_rollouts))
            optimizer.zero_grad()
            for index in minibatches:
                if run.should_stop:
                    return {}
                parts = learn(phase.rows(index, device), parts_of_step=len(minibatches))
            optimizer.step()
    return {f"losses/aux/{name}": float(part) for name, part in parts.items()}


def in_parts(index: Array, size: int) -> Iterator[Array]:
    """Yield so many at a time; the last part may be smaller."""
    for start in range(0, len(index), size):
        yield index[start : start + size]


def train(run: Run, config: Config, envs: EnvBatch, agent: nn.Module, device: torch.device) -> None:
    assert isinstance(agent, PhasicAgent)
    optimizer = Adam(
        agent.parameters(), config.learning_rate, eps=1e-8, max_grad_norm=config.max_grad_norm
    )
    distribution = distribution_for(envs.action_space)
    learn = run.compiled.whole(
        partial(ppo.descend, agent, distribution, optimizer, run.compiled, config.of_policy)
    )
    learn_auxiliary = run.compiled.whole(partial(add_gradients, agent, run.compiled, config))
    rollout = Rollout.allocate(config, envs, distribution)
    phase = Phase.allocate(config, envs, distribution)
    obs: Array | None = run.begin(envs, agent=agent, optimizer=optimizer)
    phases = run.total_timesteps // config.phase_steps
    for _ in range(run.step // config.phase_steps, phases):
        assert obs is not None
        obs = policy_phase(
            run, config, envs, agent, distribution, optimizer, learn, rollout, phase, obs, device
        )
        if obs is None:
            return
        losses = auxiliary_phase(run, config, agent, optimizer, learn_auxiliary, phase, device)
        if not losses:
            return
        run.budget.lap("learning")
        run.log(losses)
        obs = run.boundary(envs, obs)
