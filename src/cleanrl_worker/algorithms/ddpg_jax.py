"""Deep deterministic policy gradient (Lillicrap et al. 2016) in JAX: the twin of `ddpg`.

Implemented: deterministic actor and critic with target networks, Gaussian exploration noise,
replay; CleanRL's `ddpg_continuous_action_jax` by defaults and tags, its delayed actor included.
With `env_backend=jax` environments, replay and updates are one program on the device, for
`num_seeds` learners at once.
Changed: target actions are within the bounds of the action space instead of [-1, 1]; several
environments; what is due every n steps counts environment steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from cleanrl_worker.agents.flax_actors import ActorAndCritics, Bounds, infer_actions
from cleanrl_worker.agents.flax_agent import FlaxAgent, HeldLearner, Weights, draw_key
from cleanrl_worker.algorithms.batches import check_replay
from cleanrl_worker.device_training import check_seeds, train_on_device
from cleanrl_worker.on_device.loop import Draw, Losses, Rules
from cleanrl_worker.on_device.ring import Samples, samples_of
from cleanrl_worker.schedules import is_log_due
from mosaic.contracts.parameters import param

if TYPE_CHECKING:
    import gymnasium as gym
    import numpy as np

    from cleanrl_worker.envs.observations import Array
    from cleanrl_worker.envs.vector import EnvBatch
    from cleanrl_worker.policies import Policy
    from cleanrl_worker.recording import Run

EVALUATION_NOISE = 0.1
CRITICS = ("qf1",)
LOSSES = ("losses/qf1_values", "losses/qf1_loss", "losses/actor_loss")


@dataclass(frozen=True)
class Config:
    learning_rate: float = param(3e-4, "Learning rate of Adam.", range=(0, 1), group="optimiser")
    num_envs: int = param(1, "Environments stepped together.", range=(1, 65536), group="rollout")
    num_seeds: int = param(
        1,
        "Learners trained at once, each with its environments; several need env_backend=jax.",
        range=(1, 4096),
        group="rollout",
    )
    buffer_size: int = param(
        1_000_000, "Transitions that the replay buffer holds.", range=(1, None), group="replay"
    )
    gamma: float = param(0.99, "Discount.", range=(0, 1), group="returns")
    tau: float = param(0.005, "Share of a target update.", range=(0, 1), group="update")
    batch_size: int = param(256, "Transitions of an update.", range=(1, None), group="update")
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

    def check(self, total_timesteps: int) -> None:
        check_replay(self.buffer_size, self.num_envs, self.learning_starts, total_timesteps)


class Learner(NamedTuple):
    """What updates change; the target follows with the actor."""

    weights: Weights
    target: Weights
    q_optimizer: Any
    actor_optimizer: Any


def begin_learner(config: Config, weights: Weights) -> Learner:
    """Return the learner that starts from these weights."""
    adam = optax.adam(config.learning_rate)
    copied = jax.tree.map(jnp.copy, weights)  # an update writes into the memory of its arguments
    critics = {name: weights[name] for name in CRITICS}
    return Learner(weights, copied, adam.init(critics), adam.init(weights["actor"]))


def build(config: Config, envs: EnvBatch) -> FlaxAgent:
    from gymnasium import spaces

    check_seeds(config.num_seeds, envs)
    assert isinstance(envs.action_space, spaces.Box)
    networks = ActorAndCritics(Bounds.of(envs.action_space), CRITICS)
    return FlaxAgent(networks, networks.first_weights(envs.observation_space.shape, draw_key()))


def storage_bytes(config: Config, envs: EnvBatch) -> int:
    from cleanrl_worker.replay.buffer import ReplayBuffer

    return config.num_seeds * ReplayBuffer.size_bytes(
        config.buffer_size, envs.observation_space, envs.action_space
    )


def policy(agent: FlaxAgent, action_space: gym.Space[object], device: object) -> Policy:
    """Return the actor's policy; with a generator it has a little noise."""
    from gymnasium import spaces

    from cleanrl_worker.exploration import add_noise

    assert isinstance(action_space, spaces.Box)
    actions_of, space = infer_actions(agent), action_space

    def choose(obs: Array, rng: np.random.Generator | None) -> Array:
        actions = actions_of(obs)
        return actions if rng is None else add_noise(actions, space, EVALUATION_NOISE, rng)

    return choose


def critic_loss(
    networks: ActorAndCritics, weights: Weights, target: Weights, batch: Samples, gamma: float
) -> tuple[jax.Array, jax.Array]:
    """Return the squared error of the one-step targets, and the critic's values."""
    next_actions = networks.actions(target, batch.next_obs)
    next_values = networks.values("qf1", target, batch.next_obs, next_actions)
    wanted = batch.rewards + gamma * (1 - batch.ends) * next_values
    values = networks.values("qf1", weights, batch.obs, batch.actions)
    return jnp.square(values - jax.lax.stop_gradient(wanted)).mean(), values


def actor_loss(networks: ActorAndCritics, weights: Weights, obs: jax.Array) -> jax.Array:
    """Return the critic's mean value of the actor's actions, negated."""
    return -networks.values("qf1", weights, obs, networks.actions(weights, obs)).mean()


def update_critic(
    networks: ActorAndCritics, config: Config, learner: Learner, batch: Samples
) -> tuple[Learner, Losses]:
    """Take one gradient step of the critic, and return what CleanRL logs of it."""

    def loss(critics: Weights) -> tuple[jax.Array, jax.Array]:
        weights = {**learner.weights, **critics}
        return critic_loss(networks, weights, learner.target, batch, config.gamma)

    critics = {name: learner.weights[name] for name in CRITICS}
    (qf1_loss, values), gradients = jax.value_and_grad(loss, has_aux=True)(critics)
    changes, state = optax.adam(config.learning_rate).update(gradients, learner.q_optimizer)
    weights = {**learner.weights, **optax.apply_updates(critics, changes)}
    losses = {"losses/qf1_values": values.mean(), "losses/qf1_loss": qf1_loss}
    return learner._replace(weights=weights, q_optimizer=state), losses


def update_actor(
    networks: ActorAndCritics, config: Config, learner: Learner, batch: Samples
) -> tuple[Learner, jax.Array]:
    """Take one gradient step of the actor, let the targets follow, and return the loss."""
    loss, gradients = jax.value_and_grad(
        lambda actor: actor_loss(networks, {**learner.weights, "actor": actor}, batch.obs)
    )(learner.weights["actor"])
    changes, state = optax.adam(config.learning_rate).update(gradients, learner.actor_optimizer)
    actor = optax.apply_updates(learner.weights["actor"], changes)
    weights = {**learner.weights, "actor": actor}
    target = optax.incremental_update(weights, learner.target, config.tau)
    return learner._replace(weights=weights, target=target, actor_optimizer=state), loss


def rules(networks: ActorAndCritics, config: Config) -> Rules:
    """Return the learning rule as the device's loop runs it."""

    def act(learner: Learner, obs: jax.Array, key: jax.Array, step: jax.Array) -> jax.Array:
        return networks.explore(
            learner.weights,
            obs,
            key,
            config.exploration_noise,
            is_random=step < config.learning_starts,
        )

    def learn(
        learner: Learner, losses: Losses, draw: Draw, step: jax.Array, key: jax.Array
    ) -> tuple[Learner, Losses]:
        def once(index: jax.Array, carried: tuple[Learner, Losses]) -> tuple[Learner, Losses]:
            learner, before = carried
            batch = draw(jax.random.fold_in(key, index))
            learner, losses = update_critic(networks, config, learner, batch)
            learner, loss = jax.lax.cond(
                (step + 1 + index) % config.policy_frequency == 0,
                lambda held: update_actor(networks, config, held, batch),
                lambda held: (held, before["losses/actor_loss"]),
                learner,
            )
            return learner, {**losses, "losses/actor_loss": loss}

        learned: tuple[Learner, Losses]
        learned = jax.lax.fori_loop(0, config.num_envs, once, (learner, losses))
        return learned

    return Rules(act, learn, config.learning_starts, config.batch_size, LOSSES)


def train(run: Run, config: Config, envs: EnvBatch, agent: FlaxAgent, device: object) -> None:
    from gymnasium import spaces

    from cleanrl_worker.envs.device import DeviceEnvs
    from cleanrl_worker.exploration import add_noise, uniform_actions
    from cleanrl_worker.replay.buffer import ReplayBuffer

    networks, space = agent.networks, envs.action_space
    assert isinstance(space, spaces.Box)
    if isinstance(envs, DeviceEnvs):
        fresh = partial(networks.first_weights, envs.observation_space.shape)
        begin = partial(begin_learner, config)
        train_on_device(run, config, envs, agent, rules(networks, config), begin, fresh)
        return
    replay = ReplayBuffer(config.buffer_size, envs.observation_space, space)
    learn_critic = jax.jit(partial(update_critic, networks, config), donate_argnums=0)
    learn_actor = jax.jit(partial(update_actor, networks, config), donate_argnums=0)
    actions_of = infer_actions(agent)
    held = HeldLearner(agent, begin_learner(config, agent.weights))
    obs = run.begin(envs, replay=replay, agent=agent, learner=held)
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
            losses: Losses = {}
            for turn in range(before + 1, run.step + 1):
                batch = samples_of(replay.draw(run.rng, config.batch_size))
                held.learner, critics = learn_critic(held.learner, batch)
                if turn % config.policy_frequency == 0:
                    held.learner, loss = learn_actor(held.learner, batch)
                    losses = {**critics, "losses/actor_loss": loss}
            run.budget.lap("learning")
            if losses and is_log_due(run.step, config.policy_frequency, envs.num_envs):
                run.log_update(losses)
        obs = run.boundary(envs, step.obs)
