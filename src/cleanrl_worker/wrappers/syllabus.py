"""Automatic curricula of Syllabus-RL: which task an episode is of is its choice.

Only its choosing is used, in this process: neither its wrappers, which take the seed of a reset for
a task, nor its queues. What else it does is kept from the run. It prints to stdout; it draws from
NumPy's global generator, which seeds fix for environments; it makes NumPy raise on underflow; it
imports ray, for variants that are not used here, and wandb; it leaves shared memory behind.
`docs/guide/curriculum.md` says what each method is told.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import types
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from cleanrl_worker.envs.pictures import prepare_renderer, render_options
from cleanrl_worker.envs.registry import ResolvedEnv, make
from cleanrl_worker.envs.sync import SyncEnvs
from cleanrl_worker.envs.vector import EnvBatch
from cleanrl_worker.envs.watched import watched
from cleanrl_worker.showing import View
from cleanrl_worker.wrappers.curriculum import Switch
from cleanrl_worker.wrappers.tasks import TaskEnv
from mosaic.contracts.errors import DependencyMissing

# Keeps the choice of tasks apart from everything else that the run's seed fixes.
_CHOICE = 0x7A5C
_PROGRESS_EVERY = 20  # episodes between two looks at the success rates
# The arrays and counts that a method's choice depends on.
_STATE = {
    "domain_randomization": (),
    "learning_progress": (
        "completed_episodes",
        "current_steps",
        "current_task_success_rates",
        "current_task_counts",
        "random_baseline",
        "normalized_task_success_rates",
        "_p_fast",
        "_p_slow",
        "_p_true",
        "task_rates",
        "task_dist",
        "_stale_dist",
    ),
    "plr": (
        "unseen_task_weights",
        "task_scores",
        "partial_task_scores",
        "partial_task_max_scores",
        "partial_task_steps",
        "task_staleness",
        "running_sample_count",
        "next_task_index",
        "_last_score",
    ),
}


class TaskChooser:
    """One of Syllabus-RL's methods, as a piece of training state."""

    has_stages = False

    def __init__(self, method: str, tasks: Sequence[str], seed: int) -> None:
        self._method = method
        self._tasks = tuple(tasks)
        self._random = np.random.RandomState(np.random.MT19937([seed, _CHOICE]))
        self._means = np.zeros(len(tasks))
        self._played = np.zeros(len(tasks), np.int64)
        with self._contained():
            self._engine = _start(method, len(tasks))

    def build(self, envs: Sequence[ResolvedEnv], num_envs: int, view: View | None) -> EnvBatch:
        """Build a batch whose every environment has all tasks."""

        def make_one(index: int) -> gym.Env[Any, Any]:
            is_shown = view is not None and index in view.shown
            return TaskEnv(index, [_maker(env, view if is_shown else None) for env in envs], self)

        batch = SyncEnvs(make_one, num_envs, env_id=envs[0].id)
        return batch if view is None else watched(batch, view)

    def choose(self, env: int) -> int:
        if self._method == "plr":
            with self._contained():
                return int(self._engine.sample())
        # Its own draw compares an array with a list, which NumPy 2 refuses.
        return int(self._random.choice(len(self._tasks), p=self._weights()))

    def finished(self, env: int, task: int, total_reward: float, terminated: bool) -> None:
        """Tell the method of an episode: whether it succeeded, and how far it was from usual."""
        surprise = abs(total_reward - self._means[task])
        self._played[task] += 1
        self._means[task] += (total_reward - self._means[task]) / self._played[task]
        with self._contained():
            if self._method == "plr":
                self._engine.update_task_score(0, task, surprise, surprise, 1)
            else:
                success = float(terminated and total_reward > 0)
                self._engine.update_task_progress(task, success)
                self._engine.update_on_episode(total_reward, 1, task, success)

    def advance(self) -> Switch | None:
        return None

    def metrics(self) -> Mapping[str, float]:
        """Return how evenly the tasks are chosen now."""
        weights = self._weights()
        chosen = weights[weights > 0]
        return {"curriculum/entropy": float(-(chosen * np.log(chosen)).sum())}

    def _weights(self) -> np.ndarray[Any, Any]:
        if self._method == "plr":
            unseen = self._engine.unseen_task_weights
            if unseen.any():  # those come first, one as likely as the other
                return np.asarray(unseen / unseen.sum(), np.float64)
            with self._contained():
                return np.asarray(self._engine.sample_weights(), np.float64)
        with self._contained():
            return np.asarray(self._engine._sample_distribution(), np.float64)

    def state_dict(self) -> dict[str, Any]:
        engine = {name: getattr(self._engine, name) for name in _STATE[self._method]}
        known = {name: value for name, value in engine.items() if value is not None}
        return {
            "method": self._method,
            "tasks": list(self._tasks),
            "random": self._random.get_state(legacy=False),
            "means": self._means.copy(),
            "played": self._played.copy(),
            "engine": {name: np.asarray(value) for name, value in known.items()},
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        if state["method"] != self._method or list(state["tasks"]) != list(self._tasks):
            raise ValueError(f"it is of {state['method']} with {', '.join(state['tasks'])}")
        self._random.set_state(state["random"])
        self._means = np.array(state["means"])
        self._played = np.array(state["played"])
        for name in _STATE[self._method]:
            value = state["engine"].get(name)
            plain = value.item() if value is not None and value.ndim == 0 else value
            setattr(self._engine, name, plain if plain is None else _own(plain))

    @contextlib.contextmanager
    def _contained(self) -> Iterator[None]:
        """Give it a stdout and a generator of its own, and take back what it sets."""
        outer = np.random.get_state()
        np.random.set_state(self._random.get_state())
        try:
            with (
                contextlib.redirect_stdout(sys.stderr),
                np.errstate(all="warn"),
                warnings.catch_warnings(),
            ):
                warnings.simplefilter("ignore")
                yield
        finally:
            self._random.set_state(np.random.get_state())
            np.random.set_state(outer)


def _own(value: Any) -> Any:
    return value.copy() if isinstance(value, np.ndarray) else value


def _maker(env: ResolvedEnv, view: View | None) -> Callable[[], gym.Env[Any, Any]]:
    """Return what makes the environment of a task, able to draw itself where it is shown."""
    if view is None:
        return lambda: make(env)
    size = view.settings.max_dim

    def make_drawing() -> gym.Env[Any, Any]:
        made = make(env, **render_options(env, size))
        prepare_renderer(made, size)
        return made

    return make_drawing


def _start(method: str, tasks: int) -> Any:
    curricula, task_space = _import_syllabus()
    with _without("wandb"):  # its base class looks for it
        if method == "plr":
            # The other schedule asks for an evaluator once every task was seen.
            return curricula.TaskSampler(list(range(tasks)), 1, replay_schedule="fixed")
        space = task_space.DiscreteTaskSpace(tasks)
        if method == "learning_progress":
            return curricula.OnlineLearningProgress(space, update_interval=_PROGRESS_EVERY)
        return curricula.DomainRandomization(space)


@functools.cache
def _import_syllabus() -> tuple[Any, Any]:
    """Import Syllabus-RL, with a stand-in for ray, and undo what its import does."""
    os.environ.setdefault("MPLBACKEND", "Agg")
    errors = np.geterr()
    ray = types.ModuleType("ray")
    ray.remote = lambda decorated: decorated  # type: ignore[attr-defined]
    try:
        with _without("wandb"), _without("ray", ray):
            from syllabus import curricula, task_space
            from syllabus.core.evaluator import GymnasiumEvaluationWrapper
    except ImportError as error:
        raise DependencyMissing(
            f"extras.curriculum.engine='syllabus' needs Syllabus-RL, which cannot be imported: "
            f"{error}.",
            hint="Install it with: pip install 'mosaic-rl[curriculum]'",
        ) from None
    finally:
        np.seterr(**errors)
    GymnasiumEvaluationWrapper.env_count.shm.close()
    GymnasiumEvaluationWrapper.env_count.shm.unlink()
    return curricula, task_space


@contextlib.contextmanager
def _without(name: str, stand_in: types.ModuleType | None = None) -> Iterator[None]:
    """Let a module be absent, or another one, for a moment."""
    before = sys.modules.get(name)
    sys.modules[name] = stand_in  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules[name]
        if before is not None:
            sys.modules[name] = before
