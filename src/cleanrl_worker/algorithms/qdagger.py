"""QDagger (Agarwal et al. 2022, "Reincarnating reinforcement learning") on deep Q-learning.

Implemented: a teacher's play fills the replay buffer, the student learns from it offline by
temporal differences and by distillation of the teacher's values, then plays itself, and the
distillation loses weight as it comes near to the teacher's return; CleanRL's
`qdagger_dqn_atari_impalacnn` by defaults and tags.
Changed: the divergence is a mean over the batch, not a sum; exploration begins with the student's
own play; the weight holds for returns below zero; several environments. One ring holds the
teacher's rows, then the student's. `total_timesteps` is the whole run: a teacher's training, its
play, the offline updates, one step each, and the student's play, in that order on one axis.
Dropped: teachers from the Hugging Face Hub; the file is named, or trained first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import gymnasium as gym
import torch
from torch import Tensor, nn
from torch.nn.functional import log_softmax, mse_loss

from cleanrl_worker.agents.impala import ImpalaQNetwork
from cleanrl_worker.agents.inference import Infer, infer
from cleanrl_worker.agents.q_networks import count_actions
from cleanrl_worker.agents.targets import Target
from cleanrl_worker.algorithms import dqn
from cleanrl_worker.compiling import Compiler
from cleanrl_worker.envs.vector import EnvBatch
from cleanrl_worker.exploration import epsilon_greedy, value_policy
from cleanrl_worker.optimisers import Adam
from cleanrl_worker.policies import Policy
from cleanrl_worker.recording import Run
from cleanrl_worker.replay.buffer import Transitions
from cleanrl_worker.replay.frames import FrameReplay
from cleanrl_worker.schedules import LOG_INTERVAL, is_log_due, times_due
from cleanrl_worker.teacher_settings import TeacherSettings
from cleanrl_worker.teaching import (
    Phases,
    begin_own_play,
    check_lessons,
    check_pictures,
    check_rows,
    examine_student,
    examine_teacher,
    own_epsilon,
    own_measures,
    present_weight,
    watch_teacher,
)


@dataclass(frozen=True)
class Config(TeacherSettings, dqn.Config):
    def check(self, total_timesteps: int) -> None:
        check_lessons(self, total_timesteps)


def build(config: Config, envs: EnvBatch) -> nn.Module:
    check_pictures(envs.observation_space)
    return ImpalaQNetwork(count_actions(envs.action_space))


def storage_bytes(config: Config, envs: EnvBatch) -> int:
    check_pictures(envs.observation_space)
    return FrameReplay.size_bytes(
        config.buffer_size, envs.observation_space, envs.action_space, config.num_envs
    )


def q_values_of(agent: nn.Module, device: torch.device) -> Infer:
    return infer(agent, None, device)


def policy(agent: nn.Module, action_space: gym.Space[object], device: torch.device) -> Policy:
    return value_policy(q_values_of(agent, device))


class Losses(NamedTuple):
    loss: Tensor
    td_loss: Tensor
    distill_loss: Tensor
    q_values: Tensor


def divergence(teacher_values: Tensor, student_values: Tensor, temperature: float) -> Tensor:
    """Return the mean over the batch of KL(teacher, student), of softmax policies over values."""
    wanted = log_softmax(teacher_values / temperature, -1)
    found = log_softmax(student_values / temperature, -1)
    return (wanted.exp() * (wanted - found)).sum(-1).mean()


def loss(
    agent: nn.Module,
    target: nn.Module,
    teacher: nn.Module,
    batch: Transitions,
    gamma: float,
    temperature: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the squared error of the one-step targets, the divergence, and the values."""
    with torch.no_grad():
        wanted = batch.rewards + gamma * (1 - batch.ends) * target(batch.next_obs).amax(1)
        taught = teacher(batch.obs)
    every = agent(batch.obs)
    values = every.gather(1, batch.actions[:, None]).squeeze(1)
    return mse_loss(values, wanted), divergence(taught, every, temperature), values


def descend(
    agent: nn.Module,
    target: nn.Module,
    teacher: nn.Module,
    optimizer: Adam,
    compiled: Compiler,
    config: Config,
    batch: Transitions,
    weight: Tensor,
) -> Losses:
    """Take one gradient step, with the distillation at this weight."""
    td_loss, distill_loss, values = compiled(loss)(
        agent, target, teacher, batch, config.gamma, config.temperature
    )
    total = td_loss + weight * distill_loss
    optimizer.descend(total)
    return Losses(total, td_loss, distill_loss, values.mean())


class Learner(NamedTuple):
    learn: Callable[[Transitions, Tensor], Losses]
    target: Target[nn.Module]
    replay: FrameReplay
    device: torch.device


def update(run: Run, config: Config, learner: Learner, weight: float) -> Losses:
    """Learn from sampled transitions, with the distillation at this weight."""
    batch = learner.replay.sample(run.rng, config.batch_size, learner.device)
    return learner.learn(batch, torch.tensor(weight, device=learner.device))


def learn_offline(run: Run, config: Config, learner: Learner, phases: Phases) -> None:
    """Take one update on the teacher's rows, and say now and then what it gave."""
    losses = update(run, config, learner, weight=1.0)
    before, run.step = run.step, run.step + 1
    if times_due(config.target_network_frequency, before, run.step):
        learner.target.follow(config.tau)
    run.budget.lap("learning")
    if times_due(LOG_INTERVAL, before, run.step):
        run.log_update(
            {
                "charts/offline/loss": losses.loss,
                "charts/offline/q_loss": losses.td_loss,
                "charts/offline/distill_loss": losses.distill_loss,
            }
        )


def train(run: Run, config: Config, envs: EnvBatch, agent: nn.Module, device: torch.device) -> None:
    assert run.teacher is not None, "prepare refuses a run without one"
    target, optimizer = Target(agent), Adam(agent.parameters(), config.learning_rate)
    spaces = envs.observation_space, envs.action_space
    replay = FrameReplay(config.buffer_size, *spaces, envs.num_envs)
    teacher = run.teacher.agent
    learn = run.compiled.whole(
        partial(descend, agent, target.network, teacher, optimizer, run.compiled, config)
    )
    learner = Learner(learn, target, replay, device)
    phases = Phases(run.step, config)
    q_values = q_values_of(agent, device)
    obs = run.begin(
        envs,
        replay=replay,
        agent=agent,
        target=target,
        optimizer=optimizer,
        teacher=run.teacher,
        phases=phases,
    )
    check_rows(run, replay, phases)
    examine_teacher(run, config)
    obs = watch_teacher(run, config, envs, replay, phases, obs)
    replay.seal()
    while run.step < phases.offline_until and not run.should_stop:
        learn_offline(run, config, learner, phases)
        examine_student(run, config, phases, q_values)
        obs = run.boundary(envs, obs)
    obs = begin_own_play(run, envs, replay, phases, obs)
    while run.step < run.total_timesteps and not run.should_stop:
        epsilon = own_epsilon(run, config, phases)
        chosen = epsilon_greedy(q_values(obs), epsilon, run.rng)
        run.budget.lap("acting")
        step = envs.step(chosen)
        run.budget.lap("environment")
        replay.add(obs, chosen, step)
        before, run.step = run.step, run.step + envs.num_envs
        run.log_episodes(step.episodes)
        if run.step - phases.offline_until > config.learning_starts:
            weight, losses = present_weight(run), None
            for _ in range(times_due(config.train_frequency, before, run.step)):
                losses = update(run, config, learner, weight)
            if times_due(config.target_network_frequency, before, run.step):
                target.follow(config.tau)
            run.budget.lap("learning")
            if losses and is_log_due(run.step, config.train_frequency, envs.num_envs):
                run.log_update(own_measures(losses._asdict(), epsilon, weight))
        obs = run.boundary(envs, step.obs)
