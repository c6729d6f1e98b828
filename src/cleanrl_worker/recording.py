"""The run recorder: the one thing through which an algorithm speaks and is spoken to.

It logs (TensorBoard, metrics.jsonl, the channel), keeps the time budget, knows the step, holds the
random state, cuts and checkpoints, and says when to stop.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Protocol, SupportsFloat

from torch import Tensor

from cleanrl_worker.channel import Channel
from cleanrl_worker.checkpoint import Checkpoint
from cleanrl_worker.compiling import Compiler
from cleanrl_worker.cuts import Checkpoints, Stateful
from cleanrl_worker.envs.observations import Array
from cleanrl_worker.envs.vector import EnvBatch, Episode
from cleanrl_worker.policies import Policy
from cleanrl_worker.random_state import RandomState, cut_seed, rank_generator
from cleanrl_worker.ranks.group import Alone, Group
from cleanrl_worker.replay.saving import RingBuffer
from cleanrl_worker.sinks import MetricSink, StatusLines, say
from cleanrl_worker.wrappers.curriculum import Switch
from mosaic.contracts.errors import StorageError
from mosaic.contracts.events import finite
from mosaic.contracts.metrics import find_metric

if TYPE_CHECKING:
    from cleanrl_worker.evaluation import EvaluatedEpisode
    from cleanrl_worker.teachers import Teacher

RETURN_WINDOW = 100  # episodes

# Plays so many greedy episodes with a policy, until it is told to stop.
Play = Callable[[Policy, int, Callable[[], bool]], "Iterable[EvaluatedEpisode]"]


def _number(value: SupportsFloat) -> float:
    return float(value.detach() if isinstance(value, Tensor) else value)


class TimeBudget:
    """Where the time goes: each lap is added to the account that it names.

    Whoever has something to do from time to time is told of every lap, of which each step has some.
    """

    def __init__(self, on_lap: Callable[[float], None]) -> None:
        self._accounts: dict[str, float] = {}
        self._on_lap = on_lap
        self._last = time.perf_counter()

    def lap(self, account: str) -> None:
        now = time.perf_counter()
        self._accounts[account] = self._accounts.get(account, 0.0) + now - self._last
        self._last = now
        self._on_lap(now)

    def shares(self) -> dict[str, float]:
        total = sum(self._accounts.values()) or 1.0
        return {f"time/{name}": seconds / total for name, seconds in self._accounts.items()}


class RecentReturns:
    """The returns of the last episodes; a checkpoint holds them, since their mean ranks it."""

    def __init__(self) -> None:
        self.values: deque[float] = deque(maxlen=RETURN_WINDOW)

    def __len__(self) -> int:
        return len(self.values)

    def mean(self, episodes: int = RETURN_WINDOW) -> float | None:
        """Return the mean of the last episodes; None before the first."""
        last = list(self.values)[-episodes:]
        return sum(last) / len(last) if last else None

    def state_dict(self) -> dict[str, Any]:
        return {"values": list(self.values)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.values = deque(map(float, state["values"]), maxlen=RETURN_WINDOW)


class Curriculum(Stateful, Protocol):
    """What decides on the environments of the run: stages, or tasks chosen episode by episode."""

    has_stages: bool

    def advance(self) -> Switch | None: ...

    def metrics(self) -> Mapping[str, float]: ...


class Run:
    """A training run as its algorithm sees it. Used by one thread.

    `on_begin` is called when the checkpoint was found to fit, before the first step. `compiled`
    makes of a function what the run computes with. The mean return of the last
    `averaged_episodes` is logged with every episode; 0: it is not. `group` are the processes that
    share the environments, of which this is one. `teacher` is whom the algorithm learns from, where
    it does; `play` is how policies are examined on the way. `whole` is the run that this one is a
    part of, and stops with.
    """

    def __init__(
        self,
        *,
        total_timesteps: int,
        seed: int,
        channel: Channel,
        sinks: Iterable[MetricSink] = (),
        checkpoints: Checkpoints | None = None,
        description: Mapping[str, Any] | None = None,
        resume_from: Checkpoint | None = None,
        curriculum: Curriculum | None = None,
        on_begin: Callable[[], None] = lambda: None,
        averaged_episodes: int = 0,
        compiled: Compiler | None = None,
        group: Group | None = None,
        teacher: Teacher | None = None,
        play: Play = lambda policy, episodes, should_stop: (),
        whole: Run | None = None,
    ) -> None:
        self.total_timesteps = total_timesteps
        self.seed = seed
        self.step = 0 if resume_from is None else resume_from.step
        self.group: Group = group or Alone()
        self.rng = rank_generator(seed, self.group.rank)
        self._whole = whole
        self._should_stop = False
        self.has_begun = False
        self.has_cut = False
        self.budget = TimeBudget(channel.flush_due)
        self.compiled = compiled or Compiler()
        self.teacher = teacher
        self._play = play
        self._channel = channel
        self._sinks = list(sinks)
        self._status = StatusLines()
        self._checkpoints = checkpoints
        self._description = dict(description or {})
        self._resume_from = resume_from
        self._curriculum = curriculum
        self._on_begin = on_begin
        self._returns = RecentReturns()
        self._averaged_episodes = averaged_episodes
        self._first_step = self.step
        self._started = time.perf_counter()

    @property
    def should_stop(self) -> bool:
        return self._should_stop or (self._whole is not None and self._whole.should_stop)

    @should_stop.setter
    def should_stop(self, value: bool) -> None:
        self._should_stop = value

    def begin(
        self, envs: EnvBatch, *, replay: RingBuffer | None = None, **parts: Stateful
    ) -> Array:
        """Start, or go on where the checkpoint stands: its state is copied into the parts.

        The parts are all that training depends on beside the environments' own state, which no
        checkpoint holds: environments start anew after every cut, in a run that goes on as well.
        """
        random = self.group.gathered(RandomState(self.rng))
        tracked = {**parts, "random": random, "returns": self._returns}
        if isinstance(envs, Stateful):
            tracked["normaliser"] = envs
        if self._curriculum is not None:
            tracked["curriculum"] = self._curriculum
        if self._checkpoints is not None:
            self._checkpoints.track(tracked, replay)
            if self._resume_from is not None:
                self._checkpoints.restore(self._resume_from)
                # In the order of the run that went on: what building draws is drawn after the cut.
                envs.rebuild()
        self.has_begun = True
        self._on_begin()
        if self._curriculum is not None and self._resume_from is None:
            self.log(self._curriculum.metrics())
        obs = envs.reset(self._seed_of(envs))
        self._started = time.perf_counter()
        self.budget = TimeBudget(self._channel.flush_due)
        return obs

    def boundary(self, envs: EnvBatch, obs: Array) -> Array:
        """Stand where no data is half used: the place for checkpoints.

        A scheduled one is a clean cut: environments are closed, built and seeded anew, so that
        what follows depends on the checkpoint alone. A run that is to stop leaves an extra one
        where none is due. A stage of a curriculum ends here as well, before a checkpoint, which
        then is of the next stage. Returns the observations to go on from; `has_cut` says afterwards
        whether they are of new episodes, which a recurrent state must not reach.
        """
        # Asked once, and kept: a signal may come at any time, and all ranks must do the same.
        is_stopping = self.group.agree(self.should_stop)
        self.should_stop |= is_stopping
        has_new_stage = self._curriculum is not None and self._advance(self._curriculum)
        is_due = self._checkpoints is not None and self._checkpoints.is_due(self.step)
        self.has_cut = is_due or has_new_stage
        if is_due:
            return self._cut(envs)
        if self._checkpoints is not None and is_stopping:
            self._save(exact=False)
        return self.renew(envs) if has_new_stage else obs

    def _advance(self, curriculum: Curriculum) -> bool:
        """Say where the next stage begins, if one does."""
        switch = curriculum.advance()
        if switch is None:
            return False
        self.log(curriculum.metrics())
        self._channel.send("stage_changed", step=self.step, **asdict(switch))
        say(
            f"step {self.step}: stage {switch.stage + 1} of {switch.stages}, {switch.env_id} "
            f"({switch.reason})",
            sys.stdout,
        )
        return True

    def finish(self, envs: EnvBatch) -> None:
        """Leave a checkpoint of the end, from which the run can be extended.

        It is a cut as well: a run that is killed while its model is evaluated goes on from here,
        and what the first observations add to a normaliser is part of the model.
        """
        if self._checkpoints is not None and not self._checkpoints.has(self.step):
            self._cut(envs)

    def _cut(self, envs: EnvBatch) -> Array:
        self._save(exact=True)
        return self.renew(envs)

    def renew(self, envs: EnvBatch) -> Array:
        """Close every environment, build it anew, and return first observations by the step."""
        envs.rebuild()
        return envs.reset(self._seed_of(envs))

    def _seed_of(self, envs: EnvBatch) -> int:
        """Return the seed of this process' first environment, as if one process had them all."""
        return cut_seed(self.seed, self.step) + self.group.rank * envs.num_envs

    def _save(self, *, exact: bool) -> None:
        assert self._checkpoints is not None
        # A run that goes on from here will not log again what came before.
        self._tell_sinks(lambda sink: sink.flush())
        mean_return = finite(self._returns.mean())
        description = {
            **self._description,
            "exact": exact,
            "mean_return": mean_return,
            "saved_at": time.time(),
        }
        try:
            path = self._checkpoints.save(self.step, description)
        except StorageError as error:
            # A full disk costs the checkpoint, not the training.
            say(f"warning: {error.one_line()}", sys.stderr)
            return
        self._channel.send(
            "checkpoint_saved",
            path=path.as_posix(),
            step=self.step,
            exact=exact,
            mean_return=mean_return,
        )

    @property
    def steps_per_second(self) -> float:
        return (self.step - self._first_step) / max(time.perf_counter() - self._started, 1e-9)

    def log(self, values: Mapping[str, SupportsFloat], *, x: int | None = None) -> None:
        """Record scalars at the present step, or at another x."""
        assert all(find_metric(tag) for tag in values), f"not in the metric catalogue: {values}"
        step = self.step if x is None else x
        numbers = {tag: _number(value) for tag, value in values.items()}
        self._channel.send("metric", step=step, values=numbers)
        self._tell_sinks(lambda sink: sink.scalars(step, numbers))

    def _tell_sinks(self, action: Callable[[MetricSink], None]) -> None:
        """Let every sink act; one whose disk is full is given up with a warning."""
        for sink in tuple(self._sinks):
            try:
                action(sink)
            except OSError as error:
                self._sinks.remove(sink)
                name = type(sink).__name__
                say(f"warning: {name} is given up: {error.strerror or error}.", sys.stderr)

    def log_episodes(self, episodes: Iterable[Episode]) -> None:
        for episode in episodes:
            player = "" if episode.player is None else f"-player{episode.player}"
            if (
                not episode.player
            ):  # what one player wins another loses: the first one's is the run's
                self._returns.values.append(episode.total_reward)
            values = {
                f"charts/episodic_return{player}": episode.total_reward,
                f"charts/episodic_length{player}": episode.length,
            }
            if self._averaged_episodes:
                mean = self._returns.mean(self._averaged_episodes)
                assert mean is not None
                values["charts/avg_episodic_return"] = mean
            self.log(values)

    def mean_return(self, episodes: int | None = None) -> float | None:
        """Return the mean return of the last episodes; None before the first, or so many."""
        if episodes is None:
            return self._returns.mean()
        return None if len(self._returns) < episodes else self._returns.mean(episodes)

    def log_mean_episode(self, total_reward: float, length: float) -> None:
        """Record the mean of so many episodes that one point is enough."""
        self._returns.values.append(total_reward)
        self.log({"charts/episodic_return": total_reward, "charts/episodic_length": length})

    def log_update(self, values: Mapping[str, SupportsFloat]) -> None:
        """Record what an update gave, with the steps a second and the time budget."""
        speed = {"charts/SPS": int(self.steps_per_second), **self.budget.shares()}
        if self._curriculum is not None and not self._curriculum.has_stages:
            values = {**values, **self._curriculum.metrics()}
        self.log({**values, **speed})
        if self.group.rank:  # the first one's line is the run's
            return
        returns = self._returns.values
        self._status.show(self.step, self.total_timesteps, returns, self.steps_per_second)

    def evaluate(self, play: Callable[[Callable[[], bool]], Iterable[Any]]) -> list[float]:
        """Record the episodes that `play` yields until it ends or the run is to stop.

        Returns their returns.
        """
        returns = []
        for episode in play(lambda: self.should_stop):
            values = {
                "eval/episodic_return": episode.total_reward,
                "eval/episodic_length": episode.length,
            }
            self.log(values, x=episode.number)
            returns.append(float(episode.total_reward))
        return returns

    def examine(self, policy: Policy, episodes: int) -> float | None:
        """Return the mean return of greedy episodes; None where the run is to stop before that."""
        played = self._play(policy, episodes, lambda: self.should_stop)
        returns = [episode.total_reward for episode in played]
        return sum(returns) / episodes if len(returns) == episodes else None

    def preceding(self, steps: int) -> Run:
        """Return the run of another learner that comes first.

        It logs where this one does, begins for it, and leaves no checkpoints.
        """
        first = Run(
            total_timesteps=steps,
            seed=self.seed,
            channel=self._channel,
            sinks=self._sinks,
            on_begin=self._on_begin,
            compiled=self.compiled,
            whole=self,
        )
        self._on_begin = lambda: None
        return first

    def go_to(self, step: int) -> None:
        """Begin at a step: those before it were taken by somebody else."""
        self.step = self._first_step = step

    def close(self) -> None:
        if self._checkpoints is not None:
            self._checkpoints.close()
        self._channel.flush()
        self._tell_sinks(lambda sink: sink.close())
