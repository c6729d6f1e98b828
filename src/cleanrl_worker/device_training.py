"""Training on the device: the run around a loop whose environments, replay and updates are one
program."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from cleanrl_worker.agents.flax_agent import FlaxAgent
from cleanrl_worker.on_device import batch, loop
from cleanrl_worker.on_device.classic_control import Environment
from cleanrl_worker.on_device.loop import Learner, Rules, State
from cleanrl_worker.on_device.trees import Arrays, from_arrays, to_arrays
from mosaic.contracts.errors import ConfigError

if TYPE_CHECKING:
    from cleanrl_worker.envs.device import DeviceEnvs
    from cleanrl_worker.envs.vector import EnvBatch
    from cleanrl_worker.recording import Run
    from cleanrl_worker.replay.mirror import ReplayMirror

# Between two looks from outside, at which the run logs, cuts and stops.
STEPS_A_LOOK = 10_000
FEWEST_ITERATIONS, MOST_ITERATIONS = 16, 1000


class Settings(Protocol):
    """What the loop takes from an algorithm's config."""

    @property
    def num_envs(self) -> int: ...

    @property
    def num_seeds(self) -> int: ...

    @property
    def buffer_size(self) -> int: ...


def check_seeds(num_seeds: int, envs: EnvBatch) -> None:
    from cleanrl_worker.envs.device import DeviceEnvs

    if num_seeds > 1 and not isinstance(envs, DeviceEnvs):
        raise ConfigError(
            f"num_seeds={num_seeds} needs environments on the device: use env_backend=jax, "
            "or num_seeds=1."
        )


class Program:
    """The compiled loop of one or several learners, which differ in their seeds alone."""

    def __init__(self, env: Environment, rules: Rules, settings: Settings, seed: int) -> None:
        self._env = env
        self._rules = rules
        self._settings = settings
        self._keys = self._split(jax.random.key(seed))
        advance = lambda *arguments: loop.advance(self._env, rules, *arguments)  # noqa: E731
        if settings.num_seeds > 1:
            advance = jax.vmap(advance, in_axes=(0, 0, None, None, None))
        self._advance = jax.jit(advance, donate_argnums=0)

    def _split(self, key: jax.Array) -> jax.Array:
        """Return the key of each learner; the only one's is the key itself."""
        count = self._settings.num_seeds
        return key if count == 1 else jax.random.split(key, count)

    def begin(self, begin_learner: Callable[[Any], Learner], weights: Any, seed: int) -> State:
        """Return the state before the first step, of learners that begin with these weights."""
        env, settings = self._env, self._settings

        def one(weights: Any, key: jax.Array) -> State:
            learner = begin_learner(weights)
            return loop.begin(
                env, self._rules, learner, settings.num_envs, settings.buffer_size, key
            )

        many = one if settings.num_seeds == 1 else jax.vmap(one)
        state: State = jax.jit(many)(weights, self._split(jax.random.key(seed)))
        return state

    def restart(self, state: State, seed: int) -> State:
        """Return the state with all environments begun anew."""

        def one(key: jax.Array) -> batch.Batch:
            return batch.begin(self._env, self._settings.num_envs, key)

        many = one if self._settings.num_seeds == 1 else jax.vmap(one)
        return state._replace(envs=jax.jit(many)(self._split(jax.random.key(seed))))

    def advance(self, state: State, step: int, held: int, iterations: int) -> State:
        counts = jnp.int32(step), jnp.int32(held), jnp.int32(iterations)
        advanced: State = self._advance(state, self._keys, *counts)
        return advanced


class DeviceLearners:
    """The state of the loop as checkpoints hold it; the ring goes to the mirror."""

    def __init__(self, state: State, num_seeds: int) -> None:
        self.state = state
        self.held = 0  # transitions ever added to the ring
        self.mirror: ReplayMirror | None = None
        self._num_seeds = num_seeds

    def rows(self) -> Mapping[str, Any]:
        """Return the ring's columns with one row for each place, whatever the number of seeds."""
        columns = self.state.ring._asdict()
        return (
            columns
            if self._num_seeds == 1
            else {name: jnp.swapaxes(column, 0, 1) for name, column in columns.items()}
        )

    def fill_from_mirror(self) -> None:
        """Take over the rows that a checkpoint has put into the mirror."""
        assert self.mirror is not None
        self.held = self.mirror.total
        columns = {
            name: column if self._num_seeds == 1 else np.swapaxes(column, 0, 1)
            for name, column in self.mirror.columns.items()
        }
        ring = self.state.ring._replace(**jax.device_put(columns))
        self.state = self.state._replace(ring=ring)

    def state_dict(self) -> Arrays:
        """Return learners and losses, and bring the mirror up to date: it is saved next."""
        if self.mirror is not None:
            self.mirror.take(jax.device_get(self.rows()), self.held)
        return to_arrays((self.state.learner, self.state.losses))

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        learner, losses = from_arrays((self.state.learner, self.state.losses), state)
        self.state = self.state._replace(learner=learner, losses=losses)


def first_of(tree: Any, num_seeds: int) -> Any:
    """Return the first learner's part of a tree."""
    return tree if num_seeds == 1 else jax.tree.map(lambda leaf: leaf[0], tree)


def train_on_device(
    run: Run,
    settings: Settings,
    envs: DeviceEnvs,
    agent: FlaxAgent,
    rules: Rules,
    begin_learner: Callable[[Any], Learner],
    fresh_weights: Callable[[jax.Array], Any],
) -> None:
    """Train until the budget is spent or the run is to stop.

    The agent is the first learner. Every learner has the run's budget of steps.
    """
    from cleanrl_worker.replay.mirror import ReplayMirror

    seeds = settings.num_seeds
    program = Program(envs.environment, rules, settings, run.seed)
    weights = _stacked(agent, fresh_weights, seeds, run.seed)
    learners = DeviceLearners(program.begin(begin_learner, weights, run.seed), seeds)
    learners.mirror = ReplayMirror(jax.eval_shape(learners.rows))
    obs = run.begin(envs, replay=learners.mirror, agent=agent, learners=learners)
    learners.fill_from_mirror()
    learners.state = program.restart(learners.state, envs.seed)
    iterations = min(max(STEPS_A_LOOK // envs.num_envs, FEWEST_ITERATIONS), MOST_ITERATIONS)
    while run.step < run.total_timesteps and not run.should_stop:
        left = -(-(run.total_timesteps - run.step) // envs.num_envs)
        count = min(iterations, left)
        learners.state = program.advance(learners.state, run.step, learners.held, count)
        agent.weights = first_of(learners.state.learner.weights, seeds)
        learners.held += count * envs.num_envs
        run.step += count * envs.num_envs
        _log(run, learners.state, has_learned=run.step > rules.learning_starts)
        after = run.boundary(envs, obs)
        if after is not obs:
            obs, learners.state = after, program.restart(learners.state, envs.seed)


def _stacked(
    agent: FlaxAgent, fresh_weights: Callable[[jax.Array], Any], seeds: int, seed: int
) -> Any:
    """Return the weights of all learners: the agent's own, then fresh ones."""
    if seeds == 1:
        return agent.weights
    others = jax.vmap(fresh_weights)(jax.random.split(jax.random.key(seed), seeds - 1))
    return jax.tree.map(
        lambda mine, rest: jnp.concatenate((mine[None], rest)), agent.weights, others
    )


def _log(run: Run, state: State, *, has_learned: bool) -> None:
    """Log the means over all learners, and over the episodes that ended since the last look."""
    tally, losses = jax.device_get((state.tally, state.losses))
    run.budget.lap("device")
    episodes = int(np.sum(tally.episodes))
    if episodes:
        run.log_mean_episode(
            float(np.sum(tally.returns)) / episodes, float(np.sum(tally.lengths)) / episodes
        )
    if has_learned:
        run.log_update({name: float(np.mean(value)) for name, value in losses.items()})
