"""Soft actor-critic (Haarnoja et al. 2018).

Implemented: squashed Gaussian actor, two critics of which the smaller value counts, entropy weight
learned towards a target, replay; CleanRL's `sac_continuous_action` by defaults and tags, its
delayed actor with catching-up updates included.
Changed: gradients of the actor's loss are not computed for the critics' weights; several
environments, and what is due every n steps counts environment steps.
"""

from __future__ import annotations

from dataclasses import dataclass

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import mse_loss

from cleanrl_worker.agents.continuous import Critic, SquashedGaussianActor
from cleanrl_worker.agents.numpy_actors import infer_gaussian
from cleanrl_worker.agents.targets import Target, frozen
from cleanrl_worker.algorithms.batches import check_replay
from cleanrl_worker.compiling import Compiler
from cleanrl_worker.entropy import EntropyWeight
from cleanrl_worker.envs.observations import Array
from cleanrl_worker.envs.vector import EnvBatch
from cleanrl_worker.exploration import uniform_actions
from cleanrl_worker.optimisers import Adam
from cleanrl_worker.policies import Policy
from cleanrl_worker.recording import Run
from cleanrl_worker.replay.buffer import ReplayBuffer, Transitions
from cleanrl_worker.schedules import is_log_due
from mosaic.contracts.parameters import param


@dataclass(frozen=True)
class Config:
    num_envs: int = param(1, "Environments stepped together.", range=(1, 65536), group="rollout")
    buffer_size: int = param(
        1_000_000, "Transitions that the replay buffer holds.", range=(1, None), group="replay"
    )
    gamma: float = param(0.99, "Discount.", range=(0, 1), group="returns")
    tau: float = param(0.005, "Share of a target update.", range=(0, 1), group="update")
    batch_size: int = param(256, "Transitions of an update.", range=(1, None), group="update")
    learning_starts: int = param(
        5_000, "Steps before learning begins.", range=(0, None), unit="steps", group="update"
    )
    policy_lr: float = param(3e-4, "Learning rate of the actor.", range=(0, 1), group="optimiser")
    q_lr: float = param(
        1e-3, "Learning rate of critics and entropy weight.", range=(0, 1), group="optimiser"
    )
    policy_frequency: int = param(
        2, "Critic updates between updates of the actor.", range=(1, None), group="update"
    )
    target_network_frequency: int = param(
        1, "Critic updates between target updates.", range=(1, None), group="update"
    )
    alpha: float = param(
        0.2, "Weight of the entropy, where it is not learned.", range=(0, None), group="loss"
    )
    autotune: bool = param(True, "Learn the weight of the entropy.", group="loss")

    def check(self, total_timesteps: int) -> None:
        check_replay(self.buffer_size, self.num_envs, self.learning_starts, total_timesteps)


class Agent(nn.Module):
    def __init__(self, obs_shape: tuple[int, ...], space: gym.spaces.Box) -> None:
        super().__init__()
        self.actor = SquashedGaussianActor(obs_shape, space)
        self.critics = TwinCritics(obs_shape, space)
        self.log_alpha = nn.Parameter(torch.zeros(1))
        self.target_entropy = -float(np.prod(space.shape))


class TwinCritics(nn.Module):
    def __init__(self, obs_shape: tuple[int, ...], space: gym.spaces.Box) -> None:
        super().__init__()
        self.qf1 = Critic(obs_shape, space)
        self.qf2 = Critic(obs_shape, space)

    def forward(self, obs: Tensor, actions: Tensor) -> tuple[Tensor, Tensor]:
        return self.qf1(obs, actions), self.qf2(obs, actions)


def build(config: Config, envs: EnvBatch) -> nn.Module:
    assert isinstance(envs.action_space, gym.spaces.Box)
    return Agent(envs.observation_space.shape, envs.action_space)


def storage_bytes(config: Config, envs: EnvBatch) -> int:
    return ReplayBuffer.size_bytes(config.buffer_size, envs.observation_space, envs.action_space)


def policy(agent: nn.Module, action_space: gym.Space[object], device: torch.device) -> Policy:
    """Return the policy of the squashed means; with a generator actions are sampled."""
    assert isinstance(agent, Agent)
    forward = infer_gaussian(agent.actor, device)
    scale, bias = agent.actor.action_scale.cpu().numpy(), agent.actor.action_bias.cpu().numpy()

    def choose(obs: Array, rng: np.random.Generator | None) -> Array:
        means, log_stds = forward(obs)
        if rng is not None:
            means = means + np.exp(log_stds) * rng.standard_normal(means.shape, np.float32)
        actions: Array = np.tanh(means) * scale + bias
        return actions

    return choose


def critic_losses(
    agent: Agent, target: TwinCritics, batch: Transitions, alpha: Tensor, gamma: float
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return each critic's squared error of the soft one-step targets, and each one's values."""
    with torch.no_grad():
        actions, log_probs = agent.actor.sample(batch.next_obs)
        next_values = torch.min(*target(batch.next_obs, actions)) - alpha * log_probs
        wanted = batch.rewards + gamma * (1 - batch.ends) * next_values
    values1, values2 = agent.critics(batch.obs, batch.actions)
    return mse_loss(values1, wanted), mse_loss(values2, wanted), values1, values2


def actor_loss(agent: Agent, batch: Transitions, alpha: Tensor) -> tuple[Tensor, Tensor]:
    """Return the entropy-weighted loss of the actor, and its actions' log probabilities."""
    actions, log_probs = agent.actor.sample(batch.obs)
    values = torch.min(*agent.critics(batch.obs, actions))
    return (alpha * log_probs - values).mean(), log_probs.detach()


class Learner:
    """The networks' optimisers, and the order in which they learn from each other."""

    def __init__(self, agent: Agent, config: Config, compiled: Compiler) -> None:
        self.agent, self.config = agent, config
        self._critic_losses, self._actor_loss = compiled(critic_losses), compiled(actor_loss)
        self.target = Target(agent.critics)
        self.q_optimizer = Adam(agent.critics.parameters(), config.q_lr)
        self.actor_optimizer = Adam(agent.actor.parameters(), config.policy_lr)
        self.alpha = EntropyWeight(
            agent.log_alpha,
            Adam([agent.log_alpha], config.q_lr),
            agent.target_entropy,
            fixed=None if config.autotune else config.alpha,
        )

    def update(
        self, batch: Transitions, *, is_actors_turn: bool, is_targets_turn: bool
    ) -> dict[str, Tensor]:
        """Learn from one batch; return what CleanRL logs of it when it was the actor's turn."""
        config = self.config
        loss1, loss2, values1, values2 = self._critic_losses(
            self.agent, self.target.network, batch, self.alpha.value(), config.gamma
        )
        self.q_optimizer.descend(loss1 + loss2)
        losses: dict[str, Tensor] = {}
        if is_actors_turn:
            losses = {
                "losses/qf1_values": values1.mean(),
                "losses/qf2_values": values2.mean(),
                "losses/qf1_loss": loss1,
                "losses/qf2_loss": loss2,
                "losses/qf_loss": (loss1 + loss2) / 2,
                **self._update_actor(batch),
            }
        if is_targets_turn:
            self.target.follow(config.tau)
        return losses

    def _update_actor(self, batch: Transitions) -> dict[str, Tensor]:
        """Catch up on the updates that the actor was not given since its last turn."""
        losses: dict[str, Tensor] = {}
        for _ in range(self.config.policy_frequency):
            with frozen(self.agent.critics):
                loss, log_probs = self._actor_loss(self.agent, batch, self.alpha.value())
            self.actor_optimizer.descend(loss)
            losses |= {"losses/actor_loss": loss, **self.alpha.learn(log_probs)}
        return {**losses, "losses/alpha": self.alpha.value()}


def train(run: Run, config: Config, envs: EnvBatch, agent: nn.Module, device: torch.device) -> None:
    assert isinstance(agent, Agent)
    assert isinstance(envs.action_space, gym.spaces.Box)
    space = envs.action_space
    learner = Learner(agent, config, run.compiled)
    learn = run.compiled.whole(learner.update)
    replay = ReplayBuffer(config.buffer_size, envs.observation_space, space)
    sample_actions = policy(agent, space, device)
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
            actions = uniform_actions(space, envs.num_envs, run.rng)
        else:
            actions = sample_actions(obs, run.rng)
        run.budget.lap("acting")
        step = envs.step(actions)
        run.budget.lap("environment")
        replay.add(obs, actions, step)
        before, run.step = run.step, run.step + envs.num_envs
        run.log_episodes(step.episodes)
        if run.step > config.learning_starts:
            losses: dict[str, Tensor] = {}
            for turn in range(before + 1, run.step + 1):
                batch = replay.sample(run.rng, config.batch_size, device)
                is_actors_turn = turn % config.policy_frequency == 0
                is_targets_turn = turn % config.target_network_frequency == 0
                found = learn(batch, is_actors_turn=is_actors_turn, is_targets_turn=is_targets_turn)
                losses = found or losses
            run.budget.lap("learning")
            if losses and is_log_due(run.step, config.policy_frequency, envs.num_envs):
                run.log_update(losses)
        obs = run.boundary(envs, step.obs)
