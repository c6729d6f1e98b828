"""Proximal policy optimisation (Schulman et al. 2017) in JAX, with games inside the rollout.

Implemented: the clipped surrogate, GAE, value clipping, entropy bonus, annealed learning rate,
advantages normalised by minibatch, early stopping by KL; CleanRL's `ppo_atari_envpool_xla_jax` and
`ppo_atari_envpool_xla_jax_scan` by defaults and tags. Rollout and update are programs of their own,
since a rollout is compiled anew when its games are built anew. With `scan` the loops are loops of
these programs, else they are unrolled, and a rollout is its step's program called in turn.
Changed: value clipping and the KL's limit, which CleanRL's have and ignore, work; a truncated
episode is bootstrapped; the step in which envpool resets a game is not learned from.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from cleanrl_worker.agents.flax_agent import FlaxAgent, HeldLearner, Network, Weights, draw_key
from cleanrl_worker.agents.flax_networks import NatureAgent
from cleanrl_worker.algorithms.batches import check_batches
from cleanrl_worker.on_device.advantages import generalised_advantages, repeat
from cleanrl_worker.recent_games import RecentGames
from cleanrl_worker.schedules import linear_to_zero
from mosaic.contracts.parameters import param

if TYPE_CHECKING:
    import gymnasium as gym

    from cleanrl_worker.envs.in_program import Games
    from cleanrl_worker.envs.observations import Array
    from cleanrl_worker.envs.vector import EnvBatch
    from cleanrl_worker.policies import Policy
    from cleanrl_worker.recording import Run

ADAM_EPS = 1e-5


@dataclass(frozen=True)
class Config:
    learning_rate: float = param(2.5e-4, "Learning rate of Adam.", range=(0, 1), group="optimiser")
    num_envs: int = param(8, "Environments stepped together.", range=(1, 65536), group="rollout")
    num_steps: int = param(
        128, "Steps of each environment in a rollout.", range=(1, None), group="rollout"
    )
    anneal_lr: bool = param(True, "Let the learning rate fall linearly to zero.", group="optimiser")
    gamma: float = param(0.99, "Discount.", range=(0, 1), group="returns")
    gae_lambda: float = param(0.95, "Lambda of the advantages.", range=(0, 1), group="returns")
    num_minibatches: int = param(4, "Minibatches of a rollout.", range=(1, None), group="update")
    update_epochs: int = param(4, "Passes over a rollout.", range=(1, None), group="update")
    norm_adv: bool = param(True, "Normalise advantages in each minibatch.", group="update")
    clip_coef: float = param(0.1, "Clip range of the ratio.", range=(0, None), group="loss")
    clip_vloss: bool = param(True, "Clip the value function's change too.", group="loss")
    ent_coef: float = param(0.01, "Weight of the entropy bonus.", range=(0, None), group="loss")
    vf_coef: float = param(0.5, "Weight of the value loss.", range=(0, None), group="loss")
    max_grad_norm: float = param(
        0.5, "Longest gradient; longer ones are scaled.", range=(0, None), group="optimiser"
    )
    target_kl: float | None = param(
        None, "End an update's epochs beyond this KL; null: never.", range=(0, None), group="update"
    )
    scan: bool = param(
        False, "Compile loops as loops instead of unrolling them.", group="run", runtime_only=True
    )

    @property
    def batch_size(self) -> int:
        return self.num_envs * self.num_steps

    def check(self, total_timesteps: int) -> None:
        check_batches(self.num_envs, self.num_steps, self.num_minibatches, total_timesteps)


class Learner(NamedTuple):
    weights: Weights
    optimizer: Any


class Rollout(NamedTuple):
    """What was seen and done: arrays of [step, environment].

    `is_reset` marks steps that only reset an environment. `points` and `is_over` tell of games.
    """

    obs: jax.Array
    actions: jax.Array
    log_probs: jax.Array
    values: jax.Array
    rewards: jax.Array
    ends: jax.Array
    is_reset: jax.Array
    points: jax.Array
    is_over: jax.Array


class Batch(NamedTuple):
    """The samples of an update, one row each; `weights` is 0 for those that do not count."""

    obs: jax.Array
    actions: jax.Array
    log_probs: jax.Array
    advantages: jax.Array
    returns: jax.Array
    values: jax.Array
    weights: jax.Array


def optimizer_of(config: Config) -> optax.GradientTransformation:
    """Return Adam without its learning rate, which falls from update to update."""
    clip = optax.clip_by_global_norm(config.max_grad_norm)
    return optax.chain(clip, optax.scale_by_adam(eps=ADAM_EPS))


def build(config: Config, envs: EnvBatch) -> FlaxAgent:
    from cleanrl_worker.agents.q_networks import count_actions

    network = NatureAgent(count_actions(envs.action_space))
    pictures = jnp.zeros((1, *envs.observation_space.shape), jnp.uint8)
    return FlaxAgent(network, jax.jit(network.init)(draw_key(), pictures))


def storage_bytes(config: Config, envs: EnvBatch) -> int:
    """Return what a rollout takes in memory, once as stored and once as an update's batch."""
    from cleanrl_worker.envs.observations import row_bytes

    return 2 * config.batch_size * (row_bytes(envs.observation_space) + 6 * 4)


def policy(agent: FlaxAgent, action_space: gym.Space[object], device: object) -> Policy:
    """Return the agent's policy: most probable actions, or with a generator sampled ones."""
    forward = jax.jit(agent.networks.apply)

    def choose(obs: Array, rng: np.random.Generator | None) -> Array:
        logits = np.asarray(forward(agent.weights, obs)[0])
        noise = 0.0 if rng is None else rng.gumbel(size=logits.shape)
        best: Array = (logits + noise).argmax(-1)
        return best

    return choose


def step_once(
    network: Network,
    config: Config,
    games: Games,
    weights: Weights,
    carry: tuple[Any, jax.Array, jax.Array],
    key: jax.Array,
) -> tuple[tuple[Any, jax.Array, jax.Array], Rollout]:
    """Act and step every game once. Carried are the handle, the observations, what is to reset."""
    handle, obs, is_reset = carry
    logits, values = network.apply(weights, obs)
    actions = jax.random.categorical(key, logits).astype(jnp.int32)
    handle, step = games.step_inside(handle, actions)
    cut = step.truncated & ~step.terminated & ~is_reset
    bootstrap = jax.lax.cond(
        cut.any(),
        lambda: network.apply(weights, step.next_obs)[1],
        lambda: jnp.zeros_like(values),
    )
    ends = step.terminated | step.truncated
    row = Rollout(
        obs=obs,
        actions=actions,
        log_probs=log_probs_of(logits, actions),
        values=values,
        rewards=step.rewards.astype(jnp.float32) + config.gamma * cut * bootstrap,
        ends=ends,
        is_reset=is_reset,
        points=step.points,
        is_over=step.is_over,
    )
    to_reset = ends if games.resets_in_next_step else jnp.zeros_like(ends)
    return (handle, step.obs, to_reset), row


def log_probs_of(logits: jax.Array, actions: jax.Array) -> jax.Array:
    every = jax.nn.log_softmax(logits)
    return jnp.take_along_axis(every, actions[:, None], 1).squeeze(1)


def compile_rollout(network: Network, config: Config, games: Games) -> Any:
    """Return a function of weights, carry and keys that fills a rollout in these games."""
    once = partial(step_once, network, config, games)
    if config.scan:
        return jax.jit(lambda weights, *rest: repeat(partial(once, weights), *rest, scan=True))
    compiled = jax.jit(once)
    return lambda weights, *rest: repeat(partial(compiled, weights), *rest, scan=False)


def to_batch(
    network: Network, config: Config, weights: Weights, rollout: Rollout, last_obs: jax.Array
) -> Batch:
    """Turn the rollout into samples with advantages and returns."""
    advantages = generalised_advantages(
        rollout.rewards,
        rollout.values,
        rollout.ends,
        network.apply(weights, last_obs)[1],
        gamma=config.gamma,
        gae_lambda=config.gae_lambda,
        scan=config.scan,
    )
    rows = Batch(
        rollout.obs,
        rollout.actions,
        rollout.log_probs,
        advantages,
        advantages + rollout.values,
        rollout.values,
        1.0 - rollout.is_reset,
    )
    flat: Batch = jax.tree.map(lambda array: array.reshape(-1, *array.shape[2:]), rows)
    return flat


def loss(
    network: Network, config: Config, weights: Weights, batch: Batch
) -> tuple[jax.Array, dict[str, jax.Array]]:
    """Return the loss of a minibatch, and its parts."""
    count = jnp.maximum(batch.weights.sum(), 2.0)

    def mean(values: jax.Array) -> jax.Array:
        return (values * batch.weights).sum() / count

    logits, values = network.apply(weights, batch.obs)
    log_ratio = log_probs_of(logits, batch.actions) - batch.log_probs
    ratio = jnp.exp(log_ratio)

    advantages = batch.advantages
    if config.norm_adv:
        advantages = advantages - mean(advantages)
        spread = jnp.sqrt(mean(jnp.square(advantages)) * count / (count - 1))
        advantages = advantages / (spread + 1e-8)
    clipped = jnp.clip(ratio, 1 - config.clip_coef, 1 + config.clip_coef)
    policy_loss = -mean(jnp.minimum(advantages * ratio, advantages * clipped))

    value_error = jnp.square(values - batch.returns)
    if config.clip_vloss:
        change = jnp.clip(values - batch.values, -config.clip_coef, config.clip_coef)
        bounded = jnp.square(batch.values + change - batch.returns)
        value_error = jnp.maximum(value_error, bounded)
    value_loss = 0.5 * mean(value_error)

    every = jax.nn.log_softmax(logits)
    entropy = mean(-(jnp.exp(every) * every).sum(-1))
    total = policy_loss - config.ent_coef * entropy + config.vf_coef * value_loss
    return total, {
        "losses/value_loss": value_loss,
        "losses/policy_loss": policy_loss,
        "losses/entropy": entropy,
        "losses/approx_kl": mean(ratio - 1 - log_ratio),
        "losses/loss": total,
    }


def update(
    network: Network,
    config: Config,
    learner: Learner,
    batch: Batch,
    key: jax.Array,
    rate: jax.Array,
) -> tuple[Learner, dict[str, jax.Array]]:
    """Take one epoch of gradient steps, and return what CleanRL logs of the last."""

    def once(learner: Learner, rows: jax.Array) -> tuple[Learner, dict[str, jax.Array]]:
        picked = jax.tree.map(lambda column: column[rows], batch)
        gradients, parts = jax.grad(partial(loss, network, config), has_aux=True)(
            learner.weights, picked
        )
        changes, state = optimizer_of(config).update(gradients, learner.optimizer)
        weights = jax.tree.map(lambda old, new: old - rate * new, learner.weights, changes)
        return Learner(weights, state), parts

    order = jax.random.permutation(key, config.batch_size).reshape(config.num_minibatches, -1)
    learner, every = repeat(once, learner, order, scan=config.scan)
    return learner, jax.tree.map(lambda values: values[-1], every)


def train(run: Run, config: Config, envs: EnvBatch, agent: FlaxAgent, device: object) -> None:
    from cleanrl_worker.envs.in_program import HostGames, PoolInside

    network = agent.networks
    games: Games = envs if isinstance(envs, PoolInside) else HostGames(envs)
    held = HeldLearner(agent, Learner(agent.weights, optimizer_of(config).init(agent.weights)))
    recent = RecentGames()
    prepare = jax.jit(partial(to_batch, network, config))
    learn = jax.jit(partial(update, network, config), donate_argnums=0)
    obs = run.begin(envs, agent=agent, learner=held, games=recent)
    collect = compile_rollout(network, config, games)
    carry = games.handle, jnp.asarray(obs), jnp.zeros(config.num_envs, jnp.bool_)
    iterations = run.total_timesteps // config.batch_size
    for iteration in range(run.step // config.batch_size, iterations):
        started = time.perf_counter()
        rate = config.learning_rate
        if config.anneal_lr:
            rate = linear_to_zero(rate, iteration, iterations)
        key = jax.random.fold_in(jax.random.key(run.seed), iteration)
        keys = jax.random.split(key, config.num_steps + config.update_epochs)
        carry, rollout = collect(agent.weights, carry, keys[: config.num_steps])
        finished = games.episodes(
            *jax.device_get((rollout.points, rollout.is_over, rollout.is_reset))
        )
        run.budget.lap("environment")
        run.step += config.batch_size
        run.log_episodes(finished)
        recent.note(finished)
        batch = prepare(agent.weights, rollout, carry[1])
        losses: dict[str, jax.Array] = {}
        for epoch_key in keys[config.num_steps :]:
            if run.should_stop:
                return
            held.learner, losses = learn(held.learner, batch, epoch_key, rate)
            if config.target_kl is not None and losses["losses/approx_kl"] > config.target_kl:
                break
        jax.block_until_ready(losses)
        run.budget.lap("learning")
        speed = int(config.batch_size / (time.perf_counter() - started))
        about = {"charts/learning_rate": rate, "charts/SPS_update": speed, **recent.means()}
        run.log_update({**about, **losses})
        after = run.boundary(envs, obs)
        if after is not obs:
            obs = after
            if games.is_built_anew:
                collect = compile_rollout(network, config, games)
            carry = games.handle, jnp.asarray(obs), jnp.zeros(config.num_envs, jnp.bool_)
