"""Twin delayed deterministic policy gradient (Fujimoto et al. 2018).

Implemented: two critics of which the smaller value counts, smoothed target actions, delayed actor
and targets, Gaussian exploration noise, replay; CleanRL's `td3_continuous_action` by defaults and
tags.
Changed: noise and bounds are those of each action's own dimension; several environments, and what
is due every n steps counts environment steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import mse_loss

from cleanrl_worker.agents.continuous import Critic, DeterministicActor
from cleanrl_worker.agents.numpy_actors import infer_actions
from cleanrl_worker.agents.targets import Target, frozen
from cleanrl_worker.algorithms.batches import check_replay
from cleanrl_worker.compiling import Compiler
from cleanrl_worker.envs.observations import Array
from cleanrl_worker.envs.vector import EnvBatch
from cleanrl_worker.exploration import add_noise, uniform_actions
from cleanrl_worker.optimisers import Adam
from cleanrl_worker.policies import Policy
from cleanrl_worker.recording import Run
from cleanrl_worker.replay.buffer import ReplayBuffer, Transitions
from cleanrl_worker.schedules import is_log_due
from mosaic.contracts.parameters import param

EVALUATION_NOISE = 0.1


@dataclass(frozen=True)
class Config:
    learning_rate: float = param(3e-4, "Learning rate of Adam.", range=(0, 1), group="optimiser")
    num_envs: int = param(1, "Environments stepped together.", range=(1, 65536), group="rollout")
    buffer_size: int = param(
        1_000_000, "Transitions that the replay buffer holds.", range=(1, None), group="replay"
    )
    gamma: float = param(0.99, "Discount.", range=(0, 1), group="returns")
    tau: float = param(0.005, "Share of a target update.", range=(0, 1), group="update")
    batch_size: int = param(256, "Transitions of an update.", range=(1, None), group="update")
    policy_noise: float = param(
        0.2,
        "Noise on target actions, as a share of half their range.",
        range=(0, None),
        group="loss",
    )
    exploration_noise: float = param(
        0.1,
        "Noise on actions, as a share of half their range.",
        range=(0, None),
        group="exploration",
    )
    learning_starts: int = param(
        25_000, "Steps before learning begins.", range=(0, None), unit="steps", group="update"
    )
    policy_frequency: int = param(
        2, "Critic updates for each update of actor and targets.", range=(1, None), group="update"
    )
    noise_clip: float = param(
        0.5, "Largest noise on target actions, as such a share.", range=(0, None), group="loss"
    )

    def check(self, total_timesteps: int) -> None:
        check_replay(self.buffer_size, self.num_envs, self.learning_starts, total_timesteps)


class Agent(nn.Module):
    def __init__(self, obs_shape: tuple[int, ...], space: gym.spaces.Box) -> None:
        super().__init__()
        self.actor = DeterministicActor(obs_shape, space)
        self.qf1 = Critic(obs_shape, space)
        self.qf2 = Critic(obs_shape, space)


def build(config: Config, envs: EnvBatch) -> nn.Module:
    assert isinstance(envs.action_space, gym.spaces.Box)
    return Agent(envs.observation_space.shape, envs.action_space)


def storage_bytes(config: Config, envs: EnvBatch) -> int:
    return ReplayBuffer.size_bytes(config.buffer_size, envs.observation_space, envs.action_space)


def policy(agent: nn.Module, action_space: gym.Space[object], device: torch.device) -> Policy:
    """Return the actor's policy; with a generator it has a little noise."""
    assert isinstance(agent, Agent)
    assert isinstance(action_space, gym.spaces.Box)
    actions_of, space = infer_actions(agent.actor, device), action_space

    def choose(obs: Array, rng: np.random.Generator | None) -> Array:
        actions = actions_of(obs)
        return actions if rng is None else add_noise(actions, space, EVALUATION_NOISE, rng)

    return choose


def target_actions(actor: DeterministicActor, obs: Tensor, config: Config) -> Tensor:
    """Return the target actor's actions with clipped noise, within the bounds."""
    scale, bias = actor.action_scale, actor.action_bias
    actions: Tensor = actor(obs)
    noise = torch.randn_like(actions) * config.policy_noise
    noise = noise.clamp(-config.noise_clip, config.noise_clip) * scale
    return torch.max(torch.min(actions + noise, bias + scale), bias - scale)


def critic_losses(
    agent: Agent, target: Agent, batch: Transitions, config: Config
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return each critic's squared error of the one-step targets, and each one's values."""
    with torch.no_grad():
        actions = target_actions(target.actor, batch.next_obs, config)
        next_values = torch.min(
            target.qf1(batch.next_obs, actions), target.qf2(batch.next_obs, actions)
        )
        wanted = batch.rewards + config.gamma * (1 - batch.ends) * next_values
    values1 = agent.qf1(batch.obs, batch.actions)
    values2 = agent.qf2(batch.obs, batch.actions)
    return mse_loss(values1, wanted), mse_loss(values2, wanted), values1, values2


def actor_loss(agent: Agent, batch: Transitions) -> Tensor:
    """Return the first critic's mean value of the actor's actions, negated."""
    loss: Tensor = -agent.qf1(batch.obs, agent.actor(batch.obs)).mean()
    return loss


def update(
    agent: Agent,
    target: Target[Agent],
    q_optimizer: Adam,
    actor_optimizer: Adam,
    compiled: Compiler,
    config: Config,
    batch: Transitions,
    *,
    is_actors_turn: bool,
) -> dict[str, Tensor]:
    """Learn from one batch, and return what CleanRL logs of it when it was the actor's turn."""
    loss1, loss2, values1, values2 = compiled(critic_losses)(agent, target.network, batch, config)
    q_optimizer.descend(loss1 + loss2)
    if not is_actors_turn:
        return {}
    with frozen(agent.qf1):
        loss = compiled(actor_loss)(agent, batch)
    actor_optimizer.descend(loss)
    target.follow(config.tau)
    return {
        "losses/qf1_values": values1.mean(),
        "losses/qf2_values": values2.mean(),
        "losses/qf1_loss": loss1,
        "losses/qf2_loss": loss2,
        "losses/qf_loss": (loss1 + loss2) / 2,
        "losses/actor_loss": loss,
    }


def train(run: Run, config: Config, envs: EnvBatch, agent: nn.Module, device: torch.device) -> None:
    assert isinstance(agent, Agent)
    assert isinstance(envs.action_space, gym.spaces.Box)
    space = envs.action_space
    target = Target(agent)
    critics = [*agent.qf1.parameters(), *agent.qf2.parameters()]
    q_optimizer = Adam(critics, config.learning_rate)
    actor_optimizer = Adam(agent.actor.parameters(), config.learning_rate)
    replay = ReplayBuffer(config.buffer_size, envs.observation_space, space)
    learn = run.compiled.whole(
        partial(update, agent, target, q_optimizer, actor_optimizer, run.compiled, config)
    )
    actions_of = infer_actions(agent.actor, device)
    obs = run.begin(
        envs,
        replay=replay,
        agent=agent,
        target=target,
        q_optimizer=q_optimizer,
        actor_optimizer=actor_optimizer,
    )
    while run.step < run.total_timesteps and not run.should_stop:
        if run.step < config.learning_starts:
            actions = uniform_actions(space, envs.num_envs, run.rng)
        else:
            actions = add_noise(actions_of(obs), space, config.exploration_noise, run.rng)
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
                losses = losses | learn(batch, is_actors_turn=is_actors_turn)
            run.budget.lap("learning")
            if losses and is_log_due(run.step, config.policy_frequency, envs.num_envs):
                run.log_update(losses)
        obs = run.boundary(envs, step.obs)
