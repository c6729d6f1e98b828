"""QDagger (Agarwal et al. 2022) on deep Q-learning in JAX: the twin of `qdagger`.

Implemented: what is implemented there; CleanRL's `qdagger_dqn_atari_jax_impalacnn` by defaults and
tags.
Changed and dropped: what is changed and dropped there.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import jax
import jax.numpy as jnp
import optax

from cleanrl_worker.agents.flax_agent import FlaxAgent, HeldLearner, Network, Weights, draw_key
from cleanrl_worker.agents.flax_impala import ImpalaNetwork
from cleanrl_worker.algorithms import dqn_jax
from cleanrl_worker.algorithms.dqn_jax import Learner, begin_learner, first_weights, follow
from cleanrl_worker.on_device.ring import Samples, samples_of
from cleanrl_worker.schedules import LOG_INTERVAL, is_log_due, times_due
from cleanrl_worker.teacher_settings import TeacherSettings

if TYPE_CHECKING:
    from collections.abc import Callable

    from cleanrl_worker.cuts import Stateful
    from cleanrl_worker.envs.vector import EnvBatch
    from cleanrl_worker.recording import Run
    from cleanrl_worker.replay.frames import FrameReplay

q_values_of, policy = dqn_jax.q_values_of, dqn_jax.policy


@dataclass(frozen=True)
class Config(TeacherSettings, dqn_jax.Config):
    def check(self, total_timesteps: int) -> None:
        from cleanrl_worker.teaching import check_lessons

        check_lessons(self, total_timesteps)


def build(config: Config, envs: EnvBatch) -> FlaxAgent:
    from cleanrl_worker.agents.q_networks import count_actions
    from cleanrl_worker.teaching import check_pictures

    check_pictures(envs.observation_space)
    network = ImpalaNetwork(count_actions(envs.action_space))
    return FlaxAgent(network, first_weights(network, envs.observation_space.shape, draw_key()))


def storage_bytes(config: Config, envs: EnvBatch) -> int:
    from cleanrl_worker.teaching import check_pictures

    check_pictures(envs.observation_space)
    return dqn_jax.storage_bytes(config, envs)


class Losses(NamedTuple):
    loss: jax.Array
    td_loss: jax.Array
    distill_loss: jax.Array
    q_values: jax.Array


class Taught(NamedTuple):
    """The networks of student and teacher, and the teacher's weights, which nothing changes."""

    network: Network
    teacher: Network
    teacher_weights: Weights


def divergence(
    teacher_values: jax.Array, student_values: jax.Array, temperature: float
) -> jax.Array:
    """Return the mean over the batch of KL(teacher, student), of softmax policies over values."""
    wanted = jax.nn.log_softmax(teacher_values / temperature)
    found = jax.nn.log_softmax(student_values / temperature)
    return (jnp.exp(wanted) * (wanted - found)).sum(-1).mean()


def loss(
    taught: Taught, config: Config, weights: Weights, target: Weights, batch: Samples
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return the squared error of the one-step targets, the divergence, and the values."""
    best = taught.network.apply(target, batch.next_obs).max(1)
    wanted = batch.rewards + config.gamma * (1 - batch.ends) * best
    lesson = taught.teacher.apply(taught.teacher_weights, batch.obs)
    every = taught.network.apply(weights, batch.obs)
    values = jnp.take_along_axis(every, batch.actions[:, None], 1).squeeze(1)
    td_loss = jnp.square(values - jax.lax.stop_gradient(wanted)).mean()
    return td_loss, divergence(lesson, every, config.temperature), values


def update(
    network: Network,
    teacher: Network,
    config: Config,
    learner: Learner,
    teacher_weights: Weights,
    batch: Samples,
    weight: float,
) -> tuple[Learner, Losses]:
    """Take one gradient step on a batch, with the distillation at this weight."""
    taught = Taught(network, teacher, teacher_weights)

    def total(weights: Weights) -> tuple[jax.Array, Losses]:
        td_loss, distill_loss, values = loss(taught, config, weights, learner.target, batch)
        whole = td_loss + weight * distill_loss
        return whole, Losses(whole, td_loss, distill_loss, values.mean())

    (_, losses), gradients = jax.value_and_grad(total, has_aux=True)(learner.weights)
    changes, optimizer = optax.adam(config.learning_rate).update(gradients, learner.optimizer)
    weights = optax.apply_updates(learner.weights, changes)
    return Learner(weights, learner.target, optimizer), losses


class Student:
    """The learner with its compiled programs and the rows that it learns from."""

    def __init__(self, run: Run, config: Config, agent: FlaxAgent, replay: FrameReplay) -> None:
        assert run.teacher is not None, "prepare refuses a run without one"
        self.held = HeldLearner(agent, begin_learner(config, agent.weights))
        self._run, self._config, self._replay = run, config, replay
        programs = partial(update, agent.networks, run.teacher.agent.networks, config)
        self._update: Callable[..., tuple[Learner, Losses]] = jax.jit(programs, donate_argnums=0)
        self._follow = jax.jit(partial(follow, config), donate_argnums=0)

    def update(self, weight: float) -> Losses:
        run = self._run
        assert run.teacher is not None
        batch = samples_of(self._replay.draw(run.rng, self._config.batch_size))
        self.held.learner, losses = self._update(
            self.held.learner, run.teacher.agent.weights, batch, weight
        )
        return losses

    def follow(self) -> None:
        self.held.learner = self._follow(self.held.learner)


def learn_offline(run: Run, config: Config, student: Student) -> None:
    """Take one update on the teacher's rows, and say now and then what it gave."""
    losses = student.update(weight=1.0)
    before, run.step = run.step, run.step + 1
    if times_due(config.target_network_frequency, before, run.step):
        student.follow()
    run.budget.lap("learning")
    if times_due(LOG_INTERVAL, before, run.step):
        run.log_update(
            {
                "charts/offline/loss": losses.loss,
                "charts/offline/q_loss": losses.td_loss,
                "charts/offline/distill_loss": losses.distill_loss,
            }
        )


def train(run: Run, config: Config, envs: EnvBatch, agent: FlaxAgent, device: object) -> None:
    from cleanrl_worker import teaching
    from cleanrl_worker.exploration import epsilon_greedy
    from cleanrl_worker.replay.frames import FrameReplay

    assert run.teacher is not None, "prepare refuses a run without one"
    spaces = envs.observation_space, envs.action_space
    replay = FrameReplay(config.buffer_size, *spaces, envs.num_envs)
    student = Student(run, config, agent, replay)
    phases = teaching.Phases(run.step, config)
    q_values = q_values_of(agent, device)
    parts: dict[str, Stateful] = {
        "agent": agent,
        "learner": student.held,
        "teacher": run.teacher,
        "phases": phases,
    }
    obs = run.begin(envs, replay=replay, **parts)
    teaching.check_rows(run, replay, phases)
    teaching.examine_teacher(run, config)
    obs = teaching.watch_teacher(run, config, envs, replay, phases, obs)
    replay.seal()
    while run.step < phases.offline_until and not run.should_stop:
        learn_offline(run, config, student)
        teaching.examine_student(run, config, phases, q_values)
        obs = run.boundary(envs, obs)
    obs = teaching.begin_own_play(run, envs, replay, phases, obs)
    while run.step < run.total_timesteps and not run.should_stop:
        epsilon = teaching.own_epsilon(run, config, phases)
        chosen = epsilon_greedy(q_values(obs), epsilon, run.rng)
        run.budget.lap("acting")
        step = envs.step(chosen)
        run.budget.lap("environment")
        replay.add(obs, chosen, step)
        before, run.step = run.step, run.step + envs.num_envs
        run.log_episodes(step.episodes)
        if run.step - phases.offline_until > config.learning_starts:
            weight, losses = teaching.present_weight(run), None
            for _ in range(times_due(config.train_frequency, before, run.step)):
                losses = student.update(weight)
            if times_due(config.target_network_frequency, before, run.step):
                student.follow()
            run.budget.lap("learning")
            if losses and is_log_due(run.step, config.train_frequency, envs.num_envs):
                run.log_update(teaching.own_measures(losses._asdict(), epsilon, weight))
        obs = run.boundary(envs, step.obs)
