"""Soft actor-critic for discrete actions (Christodoulou 2019).

Implemented: expectations over all actions instead of samples, two critics of which the smaller
value counts, entropy weight learned towards a share of the largest entropy, replay; CleanRL's
`sac_atari` by defaults and tags.
Changed: replay stores each picture once; several environments, and what is due every n steps counts
environment steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import mse_loss

from cleanrl_worker.agents.build import build_q_network
from cleanrl_worker.agents.inference import infer
from cleanrl_worker.agents.layers import initialise_kaiming
from cleanrl_worker.agents.q_networks import QNetwork, count_actions
from cleanrl_worker.agents.targets import Target
from cleanrl_worker.algorithms.batches import check_replay
from cleanrl_worker.compiling import Compiler
from cleanrl_worker.distributions import distribution_for
from cleanrl_worker.entropy import EntropyWeight
from cleanrl_worker.envs.observations import Array
from cleanrl_worker.envs.vector import EnvBatch
from cleanrl_worker.optimisers import Adam
from cleanrl_worker.policies import Policy
from cleanrl_worker.recording import Run
from cleanrl_worker.replay.buffer import Transitions
from cleanrl_worker.replay.choosing import build_replay, replay_bytes
from cleanrl_worker.schedules import is_log_due, times_due
from mosaic.contracts.parameters import param

ADAM_EPS = 1e-4  # as in CleanRL


@dataclass(frozen=True)
class Config:
    num_envs: int = param(1, "Environments stepped together.", range=(1, 65536), group="rollout")
    buffer_size: int = param(
        1_000_000, "Transitions that the replay buffer holds.", range=(1, None), group="replay"
    )
    gamma: float = param(0.99, "Discount.", range=(0, 1), group="returns")
    tau: float = param(1.0, "Share of a target update.", range=(0, 1), group="update")
    batch_size: int = param(64, "Transitions of an update.", range=(1, None), group="update")
    learning_starts: int = param(
        20_000, "Steps before learning begins.", range=(0, None), unit="steps", group="update"
    )
    policy_lr: float = param(3e-4, "Learning rate of the actor.", range=(0, 1), group="optimiser")
    q_lr: float = param(
        3e-4, "Learning rate of critics and entropy weight.", range=(0, 1), group="optimiser"
    )
    update_frequency: int = param(
        4, "Steps between updates.", range=(1, None), unit="steps", group="update"
    )
    target_network_frequency: int = param(
        8_000, "Steps between target updates.", range=(1, None), unit="steps", group="update"
    )
    alpha: float = param(
        0.2, "Weight of the entropy, where it is not learned.", range=(0, None), group="loss"
    )
    autotune: bool = param(True, "Learn the weight of the entropy.", group="loss")
    target_entropy_scale: float = param(
        0.89,
        "Share of the largest entropy that the weight is learned towards.",
        range=(0, 1),
        group="loss",
    )

    def check(self, total_timesteps: int) -> None:
        check_replay(self.buffer_size, self.num_envs, self.learning_starts, total_timesteps)


class Agent(nn.Module):
    def __init__(self, observation_space: gym.spaces.Box, action_space: gym.Space[object]) -> None:
        super().__init__()
        self.actor = build_q_network(observation_space, action_space)  # its outputs are logits
        self.critics = TwinCritics(observation_space, action_space)
        self.log_alpha = nn.Parameter(torch.zeros(1))
        initialise_kaiming(self)


class TwinCritics(nn.Module):
    def __init__(self, observation_space: gym.spaces.Box, action_space: gym.Space[object]) -> None:
        super().__init__()
        self.qf1 = build_q_network(observation_space, action_space)
        self.qf2 = build_q_network(observation_space, action_space)

    def forward(self, obs: Tensor) -> tuple[Tensor, Tensor]:
        """Return a row of action values by each critic for every observation."""
        return self.qf1(obs), self.qf2(obs)


def build(config: Config, envs: EnvBatch) -> nn.Module:
    return Agent(envs.observation_space, envs.action_space)


def storage_bytes(config: Config, envs: EnvBatch) -> int:
    return replay_bytes(config.buffer_size, envs, config.num_envs)


def policy(agent: nn.Module, action_space: gym.Space[object], device: torch.device) -> Policy:
    """Return the agent's policy: most probable actions, or with a generator sampled ones."""
    assert isinstance(agent, Agent)
    actor = agent.actor
    logits_of = infer(actor, actor.network if isinstance(actor, QNetwork) else None, device)
    distribution = distribution_for(action_space)

    def choose(obs: Array, rng: np.random.Generator | None) -> Array:
        logits = logits_of(obs)
        if rng is None:
            return distribution.mode(logits)
        return distribution.sample(logits, distribution.noise(rng, len(obs)))

    return choose


def critic_losses(
    agent: Agent, target: TwinCritics, batch: Transitions, alpha: Tensor, gamma: float
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return each critic's squared error of the soft one-step targets, and each one's values."""
    with torch.no_grad():
        log_probs = agent.actor(batch.next_obs).log_softmax(-1)
        soft_values = torch.min(*target(batch.next_obs)) - alpha * log_probs
        next_values = (log_probs.exp() * soft_values).sum(-1)
        wanted = batch.rewards + gamma * (1 - batch.ends) * next_values
    taken = batch.actions[:, None]
    values1, values2 = (values.gather(1, taken).squeeze(1) for values in agent.critics(batch.obs))
    return mse_loss(values1, wanted), mse_loss(values2, wanted), values1, values2


def actor_loss(agent: Agent, batch: Transitions, alpha: Tensor) -> tuple[Tensor, Tensor]:
    """Return the entropy-weighted loss of the actor, and its expected log probabilities."""
    log_probs = agent.actor(batch.obs).log_softmax(-1)
    probs = log_probs.exp()
    with torch.no_grad():
        values = torch.min(*agent.critics(batch.obs))
    loss = (probs * (alpha * log_probs - values)).sum(-1).mean()
    return loss, (probs * log_probs).sum(-1).detach()


class Learner:
    """The networks' optimisers, and the order in which they learn from each other."""

    def __init__(self, agent: Agent, config: Config, actions: int, compiled: Compiler) -> None:
        self.agent, self.config = agent, config
        self._critic_losses, self._actor_loss = compiled(critic_losses), compiled(actor_loss)
        self.target = Target(agent.critics)
        self.q_optimizer = Adam(agent.critics.parameters(), config.q_lr, eps=ADAM_EPS)
        self.actor_optimizer = Adam(agent.actor.parameters(), config.policy_lr, eps=ADAM_EPS)
        self.alpha = EntropyWeight(
            agent.log_alpha,
            Adam([agent.log_alpha], config.q_lr, eps=ADAM_EPS),
            config.target_entropy_scale * math.log(actions),
            fixed=None if config.autotune else config.alpha,
        )

    def update(self, batch: Transitions) -> dict[str, Tensor]:
        """Learn from one batch, and return what CleanRL logs of it."""
        alpha = self.alpha.value()
        loss1, loss2, values1, values2 = self._critic_losses(
            self.agent, self.target.network, batch, alpha, self.config.gamma
        )
        self.q_optimizer.descend(loss1 + loss2)
        loss, log_probs = self._actor_loss(self.agent, batch, alpha)
        self.actor_optimizer.descend(loss)
        return {
            "losses/qf1_values": values1.mean(),
            "losses/qf2_values": values2.mean(),
            "losses/qf1_loss": loss1,
            "losses/qf2_loss": loss2,
            "losses/qf_loss": (loss1 + loss2) / 2,
            "losses/actor_loss": loss,
            **self.alpha.learn(log_probs),
            "losses/alpha": self.alpha.value(),
        }


def train(run: Run, config: Config, envs: EnvBatch, agent: nn.Module, device: torch.device) -> None:
    assert isinstance(agent, Agent)
    actions = count_actions(envs.action_space)
    learner = Learner(agent, config, actions, run.compiled)
    learn = run.compiled.whole(learner.update)
    replay = build_replay(config.buffer_size, envs)
    sample_actions = policy(agent, envs.action_space, device)
    obs = run.begin(
        envs,
        replay=replay,
        agent=agent,
        target=learner.target,
        q_optimizer=learner.q_optimizer,
        actor_optimizer=learner.actor_optimizer,
        alpha_optimizer=learner.alpha.optimizer,
    )
    while run.step < run.total_timesteps and not run.should_stop:
        if run.step < config.learning_starts:
            chosen = run.rng.integers(0, actions, envs.num_envs)
        else:
            chosen = sample_actions(obs, run.rng)
        run.budget.lap("acting")
        step = envs.step(chosen)
        run.budget.lap("environment")
        replay.add(obs, chosen, step)
        before, run.step = run.step, run.step + envs.num_envs
        run.log_episodes(step.episodes)
        if run.step > config.learning_starts:
            losses: dict[str, Tensor] = {}
            for _ in range(times_due(config.update_frequency, before, run.step)):
                losses = learn(replay.sample(run.rng, config.batch_size, device))
            if times_due(config.target_network_frequency, before, run.step):
                learner.target.follow(config.tau)
            run.budget.lap("learning")
            if losses and is_log_due(run.step, config.update_frequency, envs.num_envs):
                run.log_update(losses)
        obs = run.boundary(envs, step.obs)
