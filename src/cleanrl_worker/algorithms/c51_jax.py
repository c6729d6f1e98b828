"""Categorical deep Q-learning (Bellemare et al. 2017) in JAX: the twin of `c51`.

Implemented: a categorical distribution of returns for every action, its projection onto the fixed
atoms, replay, target network, epsilon-greedy exploration; CleanRL's `c51_jax` and `c51_atari_jax`
by defaults and tags. With `env_backend=jax` environments, replay and updates are one program on the
device, for `num_seeds` learners at once.
Changed: the projection of a batch is one product instead of a loop over atoms; several
environments, each exploring on its own. What is due every n steps counts environment steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax

from cleanrl_worker.agents.flax_agent import FlaxAgent, HeldLearner, Network, Weights, draw_key
from cleanrl_worker.agents.flax_networks import value_network
from cleanrl_worker.algorithms.batches import check_atoms, check_replay
from cleanrl_worker.device_training import check_seeds, train_on_device
from cleanrl_worker.on_device.distributions import project_onto_atoms
from cleanrl_worker.on_device.exploration import epsilon_greedy as explore
from cleanrl_worker.on_device.loop import Draw, Losses, Rules
from cleanrl_worker.on_device.ring import Samples, samples_of
from cleanrl_worker.on_device.schedules import falling
from cleanrl_worker.on_device.schedules import times_due as count_due
from cleanrl_worker.schedules import is_log_due, linear, times_due
from mosaic.contracts.parameters import param

if TYPE_CHECKING:
    import gymnasium as gym

    from cleanrl_worker.agents.inference import Infer
    from cleanrl_worker.envs.observations import Array
    from cleanrl_worker.envs.vector import EnvBatch
    from cleanrl_worker.policies import Policy
    from cleanrl_worker.recording import Run

LOSSES = ("losses/loss", "losses/q_values")
SMALLEST_PROBABILITY = 1e-5  # keeps the logarithm finite, as in CleanRL


@dataclass(frozen=True)
class Config:
    learning_rate: float = param(2.5e-4, "Learning rate of Adam.", range=(0, 1), group="optimiser")
    num_envs: int = param(1, "Environments stepped together.", range=(1, 65536), group="rollout")
    num_seeds: int = param(
        1,
        "Learners trained at once, each with its environments; several need env_backend=jax.",
        range=(1, 4096),
        group="rollout",
    )
    n_atoms: int = param(101, "Returns that a distribution is over.", range=(2, None), group="loss")
    v_min: float = param(-100.0, "Smallest return of a distribution.", group="loss")
    v_max: float = param(100.0, "Largest return of a distribution.", group="loss")
    buffer_size: int = param(
        10_000, "Transitions that the replay buffer holds.", range=(1, None), group="replay"
    )
    gamma: float = param(0.99, "Discount.", range=(0, 1), group="returns")
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
        check_atoms(self.v_min, self.v_max)

    def atoms(self) -> jax.Array:
        return jnp.linspace(self.v_min, self.v_max, self.n_atoms)


class Distributions(nn.Module):
    """A distribution over fixed returns for every action."""

    network: nn.Module
    actions: int
    config: Config

    def __call__(self, obs: jax.Array) -> jax.Array:
        """Return logits of [observation, action, atom]."""
        logits: jax.Array = self.network(obs)
        return logits.reshape(len(obs), self.actions, self.config.n_atoms)


class Learner(NamedTuple):
    """What an update changes, and the target, which follows now and then."""

    weights: Weights
    target: Weights
    optimizer: Any


def optimizer_of(config: Config) -> optax.GradientTransformation:
    return optax.adam(config.learning_rate, eps=0.01 / config.batch_size)


def begin_learner(config: Config, weights: Weights) -> Learner:
    """Return the learner that starts from these weights."""
    copied = jax.tree.map(jnp.copy, weights)  # an update writes into the memory of its arguments
    return Learner(weights, copied, optimizer_of(config).init(weights))


def build(config: Config, envs: EnvBatch) -> FlaxAgent:
    from cleanrl_worker.agents.q_networks import count_actions

    check_seeds(config.num_seeds, envs)
    shape = envs.observation_space.shape
    network = distribution_network(config, shape, count_actions(envs.action_space))
    return FlaxAgent(network, first_weights(network, shape, draw_key()))


def distribution_network(config: Config, obs_shape: tuple[int, ...], actions: int) -> Distributions:
    return Distributions(value_network(obs_shape, actions * config.n_atoms), actions, config)


def first_weights(network: Network, obs_shape: tuple[int, ...], key: jax.Array) -> Weights:
    return jax.jit(network.init)(key, jnp.zeros((1, *obs_shape)))


def storage_bytes(config: Config, envs: EnvBatch) -> int:
    from cleanrl_worker.replay.choosing import replay_bytes

    return config.num_seeds * replay_bytes(config.buffer_size, envs, config.num_envs)


def values_of(network: Network, weights: Weights, obs: jax.Array) -> jax.Array:
    """Return the expected returns of all actions."""
    probs = jax.nn.softmax(network.apply(weights, obs))
    values: jax.Array = probs @ network.config.atoms()
    return values


def q_values_of(agent: FlaxAgent, device: object) -> Infer:
    forward = jax.jit(partial(values_of, agent.networks))

    def q_values(obs: Array) -> Array:
        return np.asarray(forward(agent.weights, obs))

    return q_values


def policy(agent: FlaxAgent, action_space: gym.Space[object], device: object) -> Policy:
    from cleanrl_worker.exploration import value_policy

    return value_policy(q_values_of(agent, device))


def loss(
    network: Network, weights: Weights, target: Weights, batch: Samples, gamma: float
) -> tuple[jax.Array, jax.Array]:
    """Return the cross-entropy to the projected target distributions, and the taken values."""
    atoms = network.config.atoms()
    rows = jnp.arange(len(batch.rewards))
    next_probs = jax.nn.softmax(network.apply(target, batch.next_obs))
    best = (next_probs @ atoms).argmax(1)
    returns = batch.rewards[:, None] + gamma * (1 - batch.ends)[:, None] * atoms
    wanted = project_onto_atoms(next_probs[rows, best], returns, atoms)
    probs = jax.nn.softmax(network.apply(weights, batch.obs)[rows, batch.actions])
    bounded = jnp.clip(probs, SMALLEST_PROBABILITY, 1 - SMALLEST_PROBABILITY)
    entropies = -(jax.lax.stop_gradient(wanted) * jnp.log(bounded)).sum(-1)
    return entropies.mean(), probs @ atoms


def update(
    network: Network, config: Config, learner: Learner, batch: Samples
) -> tuple[Learner, Losses]:
    """Take one gradient step on a batch, and return what CleanRL logs of it."""
    (cross_entropy, values), gradients = jax.value_and_grad(
        lambda weights: loss(network, weights, learner.target, batch, config.gamma), has_aux=True
    )(learner.weights)
    changes, optimizer = optimizer_of(config).update(gradients, learner.optimizer)
    weights = optax.apply_updates(learner.weights, changes)
    return (
        Learner(weights, learner.target, optimizer),
        {"losses/loss": cross_entropy, "losses/q_values": values.mean()},
    )


def follow(learner: Learner) -> Learner:
    """Let the target be a copy of the weights."""
    return learner._replace(target=jax.tree.map(jnp.copy, learner.weights))


def rules(network: Network, config: Config, total_timesteps: int) -> Rules:
    """Return the learning rule as the device's loop runs it."""
    exploration_steps = config.exploration_fraction * total_timesteps

    def act(learner: Learner, obs: jax.Array, key: jax.Array, step: jax.Array) -> jax.Array:
        epsilon = falling(config.start_e, config.end_e, exploration_steps, step)
        return explore(values_of(network, learner.weights, obs), epsilon, key)

    def learn(
        learner: Learner, losses: Losses, draw: Draw, step: jax.Array, key: jax.Array
    ) -> tuple[Learner, Losses]:
        def once(index: jax.Array, carried: tuple[Learner, Losses]) -> tuple[Learner, Losses]:
            return update(network, config, carried[0], draw(jax.random.fold_in(key, index)))

        after = step + config.num_envs
        updates = count_due(config.train_frequency, step, after)
        learner, losses = jax.lax.fori_loop(0, updates, once, (learner, losses))
        is_due = count_due(config.target_network_frequency, step, after) > 0
        return jax.lax.cond(is_due, follow, lambda kept: kept, learner), losses

    return Rules(act, learn, config.learning_starts, config.batch_size, LOSSES)


def train(run: Run, config: Config, envs: EnvBatch, agent: FlaxAgent, device: object) -> None:
    from cleanrl_worker.envs.device import DeviceEnvs
    from cleanrl_worker.exploration import epsilon_greedy
    from cleanrl_worker.replay.choosing import build_replay

    network = agent.networks
    if isinstance(envs, DeviceEnvs):
        rule = rules(network, config, run.total_timesteps)
        fresh = partial(first_weights, network, envs.observation_space.shape)
        train_on_device(run, config, envs, agent, rule, partial(begin_learner, config), fresh)
        return
    replay = build_replay(config.buffer_size, envs)
    learn = jax.jit(partial(update, network, config), donate_argnums=0)
    follow_now = jax.jit(follow, donate_argnums=0)
    q_values = q_values_of(agent, device)
    held = HeldLearner(agent, begin_learner(config, agent.weights))
    exploration_steps = config.exploration_fraction * run.total_timesteps
    obs = run.begin(envs, replay=replay, agent=agent, learner=held)
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
            losses: Losses = {}
            for _ in range(times_due(config.train_frequency, before, run.step)):
                batch = samples_of(replay.draw(run.rng, config.batch_size))
                held.learner, losses = learn(held.learner, batch)
            if times_due(config.target_network_frequency, before, run.step):
                held.learner = follow_now(held.learner)
            run.budget.lap("learning")
            if losses and is_log_due(run.step, config.train_frequency, envs.num_envs):
                run.log_update(losses)
        obs = run.boundary(envs, step.obs)
