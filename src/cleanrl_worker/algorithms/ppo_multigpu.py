"""Proximal policy optimisation in several processes, on several GPUs or on one machine's cores.

Every process (a rank) steps its share of the environments and learns from what these gave; before
each step of the optimiser the gradients of all are averaged, so that the weights stay the same
everywhere. The rule is `ppo`'s, and so are the rollout and the loss; CleanRL's `ppo_atari_multigpu`
by names, defaults and tags. Rank 0 alone logs its episodes, checkpoints and evaluates.

Changed: advantages are normalised by the moments of the minibatches of all processes together, and
KL and losses are means over them, so that N processes are one with N times the environments whose
minibatches hold as many samples of every process. Environments are seeded as those of one process
would be, where CleanRL gives the second process mostly the seeds of the first. The runtime starts
the processes, and on GPUs they talk by NCCL unasked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import Tensor, nn

from cleanrl_worker.agents.inference import inference
from cleanrl_worker.algorithms import ppo
from cleanrl_worker.algorithms.batches import check_batches
from cleanrl_worker.algorithms.ppo import Batch, Rollout, build, collect, loss, policy, to_batch
from cleanrl_worker.compiling import Compiler
from cleanrl_worker.distributions import Distribution, distribution_for
from cleanrl_worker.envs.vector import EnvBatch
from cleanrl_worker.optimisers import Adam
from cleanrl_worker.ranks.group import Group, average_, means
from cleanrl_worker.ranks.placing import AUTO, GLOO, NCCL
from cleanrl_worker.recording import Run
from cleanrl_worker.returns import explained_variance
from cleanrl_worker.schedules import linear_to_zero
from mosaic.contracts.errors import ConfigError
from mosaic.contracts.parameters import param

__all__ = ["Config", "build", "policy", "storage_bytes", "train"]


@dataclass(frozen=True)
class Config(ppo.Config):
    """PPO's; `num_envs` and `batch_size` are those of one process."""

    local_num_envs: int = param(
        8, "Environments that each process steps.", range=(1, 65536), group="rollout"
    )
    world_size: int = param(
        2, "Processes that share the environments.", range=(1, 1024), group="rollout"
    )
    device_ids: tuple[int, ...] = param(
        (), "GPU of each process; empty: one after the other.", group="run", runtime_only=True
    )
    backend: str = param(
        AUTO,
        "How gradients travel: nccl between GPUs, gloo everywhere; auto: nccl where it can be.",
        choices=(AUTO, GLOO, NCCL),
        group="run",
        runtime_only=True,
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "num_envs", self.local_num_envs)

    @property
    def global_batch_size(self) -> int:
        return self.world_size * self.batch_size

    def check(self, total_timesteps: int) -> None:
        check_batches(
            self.local_num_envs,
            self.num_steps,
            self.num_minibatches,
            total_timesteps // self.world_size,
        )
        if self.device_ids and len(self.device_ids) != self.world_size:
            raise ConfigError(
                f"device_ids={list(self.device_ids)} names {len(self.device_ids)} GPUs for "
                f"world_size={self.world_size} processes: give one for each, or none."
            )


def storage_bytes(config: Config, envs: EnvBatch) -> int:
    """Return what the rollouts of all processes take in memory."""
    return config.world_size * ppo.storage_bytes(config, envs)


def normalised(group: Group, advantages: Tensor) -> Tensor:
    """Return rows of advantages, a minibatch each, normalised over the same rows of all ranks."""
    rows = advantages.double()
    sums = torch.stack((rows.sum(1), rows.square().sum(1)))
    group.add_up_(sums)
    count = rows.shape[1] * group.size
    mean = sums[0] / count
    variance = (sums[1] - count * mean.square()) / (count - 1)
    std = variance.clamp(min=0).sqrt()
    return ((rows - mean[:, None]) / (std[:, None] + 1e-8)).to(advantages.dtype)


def find_gradients(
    agent: nn.Module,
    distribution: Distribution,
    optimizer: Adam,
    compiled: Compiler,
    config: Config,
    minibatch: Batch,
) -> dict[str, Tensor]:
    """Leave this process's own gradients of a minibatch, and return the parts of its loss."""
    total, parts = compiled(loss)(agent, distribution, minibatch, config)
    optimizer.zero_grad()
    total.backward()
    return parts


def update(
    run: Run,
    learn: Callable[[Batch], dict[str, Tensor]],
    optimizer: Adam,
    batch: Batch,
    config: Config,
) -> dict[str, float]:
    """Take the epochs of gradient steps with all ranks, and return what CleanRL logs of them."""
    group, device = run.group, batch.obs.device
    log_ratios: list[Tensor] = []
    parts: dict[str, Tensor] = {}
    approx_kl: dict[str, float] = {}
    for _ in range(config.update_epochs):
        order = torch.from_numpy(run.rng.permutation(config.batch_size)).to(device)
        indices = order.view(config.num_minibatches, -1)
        advantages = batch.advantages[indices]
        if config.norm_adv:
            advantages = normalised(group, advantages)
        for index, row in zip(indices, advantages, strict=True):
            if run.should_stop:
                return {}
            parts = learn(replace(batch.rows(index), advantages=row))
            average_(group, optimizer.gradients)
            optimizer.step()
            log_ratios.append(parts["log_ratio"].clone())  # a graph's next replay writes there
        log_ratio = parts["log_ratio"]
        own_kl = float((log_ratio.exp() - 1 - log_ratio).mean())
        approx_kl = means(group, {"losses/approx_kl": own_kl}, device)
        if config.target_kl is not None and approx_kl["losses/approx_kl"] > config.target_kl:
            break
    clipped = (torch.cat(log_ratios).exp() - 1).abs() > config.clip_coef
    own = {
        "losses/value_loss": float(parts["value_loss"]),
        "losses/policy_loss": float(parts["policy_loss"]),
        "losses/entropy": float(parts["entropy"]),
        "losses/old_approx_kl": float(-parts["log_ratio"].mean()),
        "losses/clipfrac": float(clipped.float().mean()),
        "losses/explained_variance": explained_variance(batch.values, batch.returns),
    }
    return means(group, own, device) | approx_kl


def train(run: Run, config: Config, envs: EnvBatch, agent: nn.Module, device: torch.device) -> None:
    optimizer = Adam(
        agent.parameters(), config.learning_rate, eps=1e-5, max_grad_norm=config.max_grad_norm
    )
    distribution = distribution_for(envs.action_space)
    settings = replace(config, norm_adv=False)  # they are normalised before, over all ranks
    learn = run.compiled.whole(
        partial(find_gradients, agent, distribution, optimizer, run.compiled, settings)
    )
    forward = inference(agent, device)
    rollout = Rollout.allocate(config, envs, distribution)
    obs = run.begin(envs, agent=agent, optimizer=optimizer)
    iterations = run.total_timesteps // config.global_batch_size
    for iteration in range(run.step // config.global_batch_size, iterations):
        rate = config.learning_rate
        if config.anneal_lr:
            rate = linear_to_zero(rate, iteration, iterations)
        optimizer.learning_rate = rate
        obs = collect(run, envs, forward, distribution, rollout, obs, config.gamma)
        if run.should_stop:
            return
        batch = to_batch(rollout, forward(obs)[1], distribution, config, device)
        losses = update(run, learn, optimizer, batch, config)
        if not losses:
            return
        run.budget.lap("learning")
        run.log_update({"charts/learning_rate": rate, **losses})
        obs = run.boundary(envs, obs)
