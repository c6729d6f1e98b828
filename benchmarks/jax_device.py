"""Steps a second of training on the device: `python benchmarks/jax_device.py`.

Environments, replay and updates are one program, for one learner or several. Beside each rate
stands what the same number of environments gives when they are only stepped, with random actions.
Needs JAX, flax, optax and NumPy, and no Gymnasium: it runs on a bare GPU machine with
`PYTHONPATH=src`. The best of the rounds is shown, after one that compiles.

A replay learner with many environments is bound by its updates, so `--steps-an-update` says how
many environment steps each has; 0 takes one update for each step of all environments.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from cleanrl_worker.agents.flax_actors import ActorAndCritics, Bounds
from cleanrl_worker.agents.flax_networks import value_network
from cleanrl_worker.algorithms import c51_jax, ddpg_jax, dqn_jax, td3_jax
from cleanrl_worker.device_training import Program
from cleanrl_worker.on_device import batch
from cleanrl_worker.on_device.classic_control import Environment, find_environment
from cleanrl_worker.on_device.loop import Rules

Task = tuple[Environment, Rules, Any, Callable[[Any], Any], Callable[[jax.Array], Any]]

NUM_ENVS = (1, 16, 256, 4096, 16384)
NUM_SEEDS = (1, 16)
LEARNING_STARTS = 1000
ROWS = 131_072  # of the replay buffer: all rows of a step fit in, and none wraps
TORQUE = Bounds((-2.0,), (2.0,))  # Pendulum's
ITERATIONS = 64


def main() -> None:
    options = _parse()
    device = jax.devices()[0]
    print(f"{device.device_kind}, JAX {jax.__version__}; steps a second of all learners together")
    print("| algorithm | environment | learners | environments each | training | alone | share |")
    print("|---|---|---|---|---|---|---|")
    for name in options.algorithms:
        for num_seeds in options.num_seeds:
            for num_envs in options.num_envs:
                print(_row(name, num_envs, num_seeds, options), flush=True)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--algorithms", nargs="+", default=["dqn_jax"], choices=_TASKS)
    parser.add_argument("--num-envs", nargs="+", type=int, default=NUM_ENVS)
    parser.add_argument("--num-seeds", nargs="+", type=int, default=NUM_SEEDS)
    parser.add_argument("--steps-an-update", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.5, help="of a round, at least")
    return parser.parse_args()


def _row(name: str, num_envs: int, num_seeds: int, options: argparse.Namespace) -> str:
    env_id = "CartPole-v1" if name in ("dqn_jax", "c51_jax") else "Pendulum-v1"
    env = find_environment(env_id)
    assert env is not None
    task = _TASKS[name](env, num_envs, num_seeds, options.steps_an_update or num_envs)
    training = _best(partial(_train, task), num_envs * num_seeds, options)
    alone = _best(partial(_only_step, env, num_envs * num_seeds), num_envs * num_seeds, options)
    rates = f"{training:,.0f} | {alone:,.0f} | {training / alone:.1%}"
    return f"| {name} | {env_id} | {num_seeds} | {num_envs} | {rates} |"


def _best(start: Callable[[], Callable[[int], Any]], steps: int, options: Any) -> float:
    """Return the best rate of the rounds, each of as many iterations as fill its seconds."""
    run = start()
    jax.block_until_ready(run(ITERATIONS))  # compiles
    seconds = _time(run, ITERATIONS)
    iterations = ITERATIONS * max(1, math.ceil(options.seconds / max(seconds, 1e-6)))
    return max(iterations * steps / _time(run, iterations) for _ in range(options.rounds))


def _time(run: Callable[[int], Any], iterations: int) -> float:
    started = time.perf_counter()
    jax.block_until_ready(run(iterations))
    return time.perf_counter() - started


def _train(task: Task) -> Callable[[int], Any]:
    env, rules, config, begin_learner, fresh_weights = task
    program = Program(env, rules, config, seed=1)
    key, seeds = jax.random.key(1), config.num_seeds
    weights = fresh_weights(key)
    if seeds > 1:
        weights = jax.vmap(fresh_weights)(jax.random.split(key, seeds))
    state = program.begin(begin_learner, weights, seed=1)
    held = 0

    def run(iterations: int) -> Any:
        nonlocal state, held
        # From where it learns on; the steps before that would only fill the buffer.
        state = program.advance(state, LEARNING_STARTS + held, held, iterations)
        held += iterations * config.num_envs
        return state

    return run


def _only_step(env: Environment, num_envs: int) -> Callable[[int], Any]:
    """Return what steps environments with random actions, and does nothing else."""

    def iterate(index: jax.Array, held: batch.Batch) -> batch.Batch:
        action_key, env_key = jax.random.split(jax.random.fold_in(jax.random.key(1), index))
        if env.actions is None:
            actions = jax.random.uniform(action_key, (num_envs, 1), minval=-2.0, maxval=2.0)
        else:
            actions = jax.random.randint(action_key, (num_envs,), 0, env.actions)
        return batch.step(env, held, actions, env_key)[0]

    many = jax.jit(lambda held, count: jax.lax.fori_loop(0, count, iterate, held))
    state = batch.begin(env, num_envs, jax.random.key(2))

    def run(iterations: int) -> Any:
        nonlocal state
        state = many(state, jnp.int32(iterations))
        return state

    return run


def _q_learning(
    module: Any, env: Environment, num_envs: int, num_seeds: int, steps_an_update: int
) -> Task:
    config = module.Config(
        num_envs=num_envs,
        num_seeds=num_seeds,
        train_frequency=steps_an_update,
        target_network_frequency=500 * steps_an_update,
        learning_starts=LEARNING_STARTS,
        buffer_size=ROWS,
    )
    obs_shape, actions = (4,), env.actions or 0
    network = (
        value_network(obs_shape, actions)
        if module is dqn_jax
        else module.distribution_network(config, obs_shape, actions)
    )
    rules = module.rules(network, config, 10**7)
    fresh = partial(module.first_weights, network, obs_shape)
    return env, rules, config, partial(module.begin_learner, config), fresh


def _actor_critic(
    module: Any, env: Environment, num_envs: int, num_seeds: int, steps_an_update: int
) -> Task:
    """Return a learner that takes an update for every environment step, as its rule says."""
    config = module.Config(num_envs=num_envs, num_seeds=num_seeds, buffer_size=ROWS)
    config = replace(config, learning_starts=LEARNING_STARTS)
    networks = ActorAndCritics(TORQUE, module.CRITICS)
    fresh = partial(networks.first_weights, (3,))
    begin = partial(module.begin_learner, config)
    return env, module.rules(networks, config), config, begin, fresh


_TASKS: dict[str, Callable[..., Task]] = {
    "dqn_jax": partial(_q_learning, dqn_jax),
    "c51_jax": partial(_q_learning, c51_jax),
    "ddpg_continuous_action_jax": partial(_actor_critic, ddpg_jax),
    "td3_continuous_action_jax": partial(_actor_critic, td3_jax),
}

if __name__ == "__main__":
    main()
