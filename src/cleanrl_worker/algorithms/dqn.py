"""Deep Q-learning (Mnih et al. 2015).

Implemented: replay, target network, epsilon-greedy exploration, squared error; CleanRL's `dqn` and
`dqn_atari` by defaults and tags.
Changed: several environments, each exploring on its own. What is due every n steps counts
environment steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import gymnasium as gym
import torch
from torch import Tensor, nn
from torch.nn.functional import mse_loss

from cleanrl_worker.agents.build import build_q_network
from cleanrl_worker.agents.inference import Infer, infer
from cleanrl_worker.agents.q_networks import QNetwork
from cleanrl_worker.agents.targets import Target
from cleanrl_worker.algorithms.batches import check_replay
from cleanrl_worker.compiling import Compiler
from cleanrl_worker.envs.vector import EnvBatch
from cleanrl_worker.exploration import epsilon_greedy, value_policy
from cleanrl_worker.optimisers import Adam
from cleanrl_worker.policies import Policy
from cleanrl_worker.recording import Run
from cleanrl_worker.replay.buffer import Transitions
from cleanrl_worker.replay.choosing import build_replay, replay_bytes
from cleanrl_worker.schedules import is_log_due, linear, times_due
from mosaic.contracts.parameters import param


@dataclass(frozen=True)
class Config:
    learning_rate: float = param(2.5e-4, "Learning rate of Adam.", range=(0, 1), group="optimiser")
    num_envs: int = param(1, "Environments stepped together.", range=(1, 65536), group="rollout")
    buffer_size: int = param(
        10_000, "Transitions that the replay buffer holds.", range=(1, None), group="replay"
    )
    gamma: float = param(0.99, "Discount.", range=(0, 1), group="returns")
    tau: float = param(1.0, "Share of a target update.", range=(0, 1), group="update")
    target_network_frequency: int = param(
        500, "Steps between target updates.", range=(1, None), unit="steps", group="update"
    )
    batch_size: int = param(128, "Transitions of an update.", range=(1, None), group="update")
    start_e: float = param(1.0, "Exploration at the start.", range=(0, 1), group="exploration")
    end_e: float = param(0.05, "Exploration at the end.", range=(0, 1), group="exploration")
    exploration_fraction: float = param(
        0.5, "Share of the run in which exploration falls.", range=(0, 1), group="exploration"
    )
    learning_starts: int = param(
        10_000, "Steps before learning begins.", range=(0, None), unit="steps", group="update"
    )
    train_frequency: int = param(
        10, "Steps between updates.", range=(1, None), unit="steps", group="update"
    )

    def check(self, total_timesteps: int) -> None:
        check_replay(self.buffer_size, self.num_envs, self.learning_starts, total_timesteps)


def build(config: Config, envs: EnvBatch) -> nn.Module:
    return build_q_network(envs.observation_space, envs.action_space)


def storage_bytes(config: Config, envs: EnvBatch) -> int:
    return replay_bytes(config.buffer_size, envs, config.num_envs)


def q_values_of(agent: nn.Module, device: torch.device) -> Infer:
    return infer(agent, agent.network if isinstance(agent, QNetwork) else None, device)


def policy(agent: nn.Module, action_space: gym.Space[object], device: torch.device) -> Policy:
    return value_policy(q_values_of(agent, device))


def loss(
    agent: nn.Module, target: nn.Module, batch: Transitions, gamma: float
) -> tuple[Tensor, Tensor]:
    """Return the squared error of the one-step targets, and the values of the actions taken."""
    with torch.no_grad():
        best = target(batch.next_obs).amax(1)
        lasting = torch.addcmul(best, batch.ends, best, value=-1)  # 0 where the episode ended
        wanted = torch.add(batch.rewards, lasting, alpha=gamma)
    values = agent(batch.obs).gather(1, batch.actions[:, None]).squeeze(1)
    return mse_loss(values, wanted), values


def update(
    agent: nn.Module,
    target: nn.Module,
    optimizer: Adam,
    compiled: Compiler,
    gamma: float,
    batch: Transitions,
) -> tuple[Tensor, Tensor]:
    """Take one gradient step on sampled transitions; return the loss and the values."""
    td_loss, values = compiled(loss)(agent, target, batch, gamma)
    optimizer.descend(td_loss)
    return td_loss, values


def train(run: Run, config: Config, envs: EnvBatch, agent: nn.Module, device: torch.device) -> None:
    target = Target(agent)
    optimizer = Adam(agent.parameters(), config.learning_rate)
    replay = build_replay(config.buffer_size, envs)
    learn = run.compiled.whole(
        partial(update, agent, target.network, optimizer, run.compiled, config.gamma)
    )
    q_values = q_values_of(agent, device)
    exploration_steps = config.exploration_fraction * run.total_timesteps
    obs = run.begin(envs, replay=replay, agent=agent, target=target, optimizer=optimizer)
    while run.step < run.total_timesteps and not run.should_stop:
        epsilon = linear(config.start_e, config.end_e, exploration_steps, run.step)
        chosen = epsilon_greedy(q_values(obs), epsilon, run.rng)
        run.budget.lap("acting")
        step = envs.step(chosen)
        run.budget.lap("environment")
        replay.add(obs, chosen, step)
        before, run.step = run.step, run.step + envs.num_envs
        run.log_episodes(step.episodes)
        if run.step > config.learning_starts:
            found: tuple[Tensor, Tensor] | None = None
            for _ in range(times_due(config.train_frequency, before, run.step)):
                found = learn(replay.sample(run.rng, config.batch_size, device))
            if times_due(config.target_network_frequency, before, run.step):
                target.follow(config.tau)
            run.budget.lap("learning")
            if found and is_log_due(run.step, config.train_frequency, envs.num_envs):
                td_loss, values = found
                run.log_update({"losses/td_loss": td_loss, "losses/q_values": values.mean()})
        obs = run.boundary(envs, step.obs)
