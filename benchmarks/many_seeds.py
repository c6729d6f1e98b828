"""How many learners of a setting learn CartPole: `python benchmarks/many_seeds.py dqn_jax`.

Some dozens of learners, which differ in their seeds alone, train in one program (`num_seeds`), with
the recipe's tuned row and what `--set` changes of it, a row of the table each. At looks over the
last third of the run each learner's greedy policy plays episodes, the same starts for all. A look
counts where their mean reaches the bar: the share of looks says how steady a setting is, where the
last one is luck.

    python benchmarks/many_seeds.py dqn_jax --seeds 64 --set "tau=0.01 target_network_frequency=2"

Needs JAX, flax, optax and NumPy, and no Gymnasium, as `jax_device.py`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from cleanrl_worker.agents.flax_networks import value_network
from cleanrl_worker.algorithms import c51_jax, dqn_jax
from cleanrl_worker.device_training import Program
from cleanrl_worker.on_device import batch
from cleanrl_worker.on_device.classic_control import Environment, find_environment
from cleanrl_worker.recipes import RECIPES

MODULES: Mapping[str, Any] = {"dqn_jax": dqn_jax, "c51_jax": c51_jax}
LOOKED_AT = 1 / 3  # of the run, from its end
OBS_SHAPE = (4,)

# From the learners' weights to each one's mean return.
Examine = Callable[[Any], np.ndarray]


def main(arguments: Sequence[str] | None = None) -> None:
    options = _parser().parse_args(arguments)
    (row,) = RECIPES[options.algorithm].tuned
    env = find_environment(row.env_id)
    assert env is not None
    steps = options.steps or int(row.values["total_timesteps"])
    print(
        f"{jax.devices()[0].device_kind}, JAX {jax.__version__}; {options.algorithm} on "
        f"{row.env_id}, {steps:,} steps, {options.seeds} learners from seed {options.first_seed}, "
        f"{options.episodes} greedy episodes a look"
    )
    print(f"| changed | at {options.bar:g} or above in the end | worst | looks at the bar |")
    print("|---|---|---|---|")
    for changes in options.set or [""]:
        values = {**row.values, **_read(changes)}
        returns = _train(options, env, values, steps)
        last = returns[-1]
        sure = int((last >= options.bar).sum())
        print(
            f"| {changes or 'nothing'} | {sure} of {options.seeds} | {last.min():.0f} "
            f"| {(returns >= options.bar).mean():.0%} |",
            flush=True,
        )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("algorithm", choices=MODULES, nargs="?", default="dqn_jax")
    parser.add_argument("--seeds", type=int, default=16, help="learners of a setting")
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--steps", type=int, help="default: the tuned row's")
    parser.add_argument("--bar", type=float, default=450.0)
    parser.add_argument("--episodes", type=int, default=20)
    parser.add_argument("--looks", type=int, default=5)
    parser.add_argument("--set", action="append", help='changes of a row: "gamma=0.98 tau=0.5"')
    return parser


def _read(changes: str) -> dict[str, float]:
    pairs = (pair.split("=") for pair in changes.split())
    return {name: float(value) if set(value) & {".", "e"} else int(value) for name, value in pairs}


def _train(
    options: argparse.Namespace, env: Environment, values: Mapping[str, Any], steps: int
) -> np.ndarray:
    """Return the mean returns of [look, learner]."""
    module = MODULES[options.algorithm]
    known = {field.name for field in fields(module.Config)}
    config = module.Config(
        num_seeds=options.seeds, **{name: value for name, value in values.items() if name in known}
    )
    network = _network(module, config, env)
    program = Program(env, module.rules(network, config, steps), config, seed=options.first_seed)
    key = jax.random.key(options.first_seed)
    fresh = partial(module.first_weights, network, OBS_SHAPE)
    weights = jax.vmap(fresh)(jax.random.split(key, options.seeds))
    state = program.begin(partial(module.begin_learner, config), weights, seed=options.first_seed)
    examine = _examination(module, network, env, options.episodes)
    looks = {round(steps * (1 - LOOKED_AT * part)) for part in np.linspace(0, 1, options.looks)}
    taken, returns = 0, []
    for look in sorted(looks):
        count = (look - taken) // config.num_envs
        state = program.advance(state, taken, taken, count)
        taken += count * config.num_envs
        returns.append(examine(state.learner.weights))
    return np.stack(returns)


def _network(module: Any, config: Any, env: Environment) -> Any:
    actions = env.actions or 0
    if module is dqn_jax:
        return value_network(OBS_SHAPE, actions)
    return module.distribution_network(config, OBS_SHAPE, actions)


def _examination(module: Any, network: Any, env: Environment, episodes: int) -> Examine:
    """Return what plays each learner's greedy policy from the same starts, until all have ended."""

    def act(weights: Any, obs: jax.Array) -> jax.Array:
        if module is dqn_jax:
            return network.apply(weights, obs).argmax(-1)
        return module.values_of(network, weights, obs).argmax(-1)

    def play(weights: Any) -> jax.Array:
        def once(index: jax.Array, carried: tuple[Any, jax.Array, jax.Array]) -> Any:
            held, totals, is_over = carried
            actions = act(weights, batch.observe(env, held))
            held, outcome = batch.step(env, held, actions, jax.random.key(0))
            totals = totals + jnp.where(is_over, 0.0, outcome.rewards)
            return held, totals, is_over | outcome.ended

        held = batch.begin(env, episodes, jax.random.key(12_345))
        begun = held, jnp.zeros(episodes), jnp.zeros(episodes, jnp.bool_)
        return jax.lax.fori_loop(0, env.max_episode_steps, once, begun)[1].mean()

    many = jax.jit(jax.vmap(play))
    return lambda weights: np.asarray(many(weights))


if __name__ == "__main__":
    main()
