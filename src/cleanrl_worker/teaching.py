"""Learning from a teacher in phases: the parts of QDagger that know no framework."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, SupportsFloat

import gymnasium as gym

from cleanrl_worker.agents.inference import Infer
from cleanrl_worker.agents.layout import PICTURES
from cleanrl_worker.envs.observations import Array
from cleanrl_worker.envs.vector import EnvBatch
from cleanrl_worker.exploration import epsilon_greedy, value_policy
from cleanrl_worker.recording import Run
from cleanrl_worker.replay.frames import FrameReplay
from cleanrl_worker.schedules import LOG_INTERVAL, linear, times_due
from mosaic.contracts.errors import ConfigError

EXAMINATION_INTERVAL = 100_000  # offline updates between two examinations, as in CleanRL
RETURN_WINDOW = 10  # episodes of the student that are compared with the teacher, as in CleanRL


class Lessons(Protocol):
    """What the phases are told by the algorithm's config."""

    @property
    def num_envs(self) -> int: ...

    @property
    def buffer_size(self) -> int: ...

    @property
    def learning_starts(self) -> int: ...

    @property
    def teacher_policy_path(self) -> str | None: ...

    @property
    def train_teacher_steps(self) -> int | None: ...

    @property
    def teacher_model_exp_name(self) -> str: ...

    @property
    def start_e(self) -> float: ...

    @property
    def end_e(self) -> float: ...

    @property
    def exploration_fraction(self) -> float: ...

    @property
    def teacher_steps(self) -> int: ...

    @property
    def offline_steps(self) -> int: ...

    @property
    def teacher_eval_episodes(self) -> int: ...


class Phases:
    """Where the phases of a run end, in its steps, and which replay rows are the student's own.

    The teacher plays, the student learns from that offline (an update is a step), the student
    plays. A part of every checkpoint, so that it says in which of them it was made.
    """

    def __init__(self, start: int, lessons: Lessons) -> None:
        self.start = start
        self.teacher_until = start + lessons.teacher_steps
        self.offline_until = self.teacher_until + lessons.offline_steps
        self.own_rows_from: int | None = None

    def state_dict(self) -> dict[str, Any]:
        return dict(vars(self))

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        own = state["own_rows_from"]
        self.own_rows_from = None if own is None else int(own)
        for name in ("start", "teacher_until", "offline_until"):
            setattr(self, name, int(state[name]))


def check_lessons(lessons: Lessons, total_timesteps: int) -> None:
    """Refuse lessons without a teacher, without rows to learn from, or without time to play."""
    path, training = lessons.teacher_policy_path, lessons.train_teacher_steps
    if path is None and training is None:
        raise ConfigError(
            "teacher_policy_path is missing: name a policy file of "
            f"{lessons.teacher_model_exp_name}, or give train_teacher_steps for a teacher that is "
            "trained first."
        )
    if path is not None and training is not None:
        raise ConfigError(
            f"teacher_policy_path={path!r} contradicts train_teacher_steps={training}: give one."
        )
    for name, least in (("teacher_steps", 2), ("buffer_size", PICTURES[0] + 1)):
        value, needed = getattr(lessons, name), least * lessons.num_envs
        if value < needed:
            raise ConfigError(
                f"{name}={value} gives nothing to learn from with num_envs={lessons.num_envs}. "
                f"Use at least {needed}."
            )
    lead = (training or 0) + lessons.teacher_steps + lessons.offline_steps
    if total_timesteps <= lead + lessons.learning_starts:
        raise ConfigError(
            f"total_timesteps={total_timesteps} ends before the student learns from its own play: "
            f"train_teacher_steps={training or 0}, teacher_steps={lessons.teacher_steps}, "
            f"offline_steps={lessons.offline_steps} and learning_starts={lessons.learning_starts} "
            f"come first. Use more than {lead + lessons.learning_starts}, or fewer of those."
        )


def check_pictures(space: gym.spaces.Box) -> None:
    """Refuse observations that are no stacks of Atari's pictures."""
    if space.shape != PICTURES:
        shapes = ("x".join(map(str, shape)) for shape in (space.shape, PICTURES))
        raise ConfigError(
            "The environment's observations are {}; a residual network for pictures of {} is "
            "taught.".format(*shapes)
        )


def examine_teacher(run: Run, lessons: Lessons) -> None:
    """Let the teacher play the games that the student is measured by; once in a run."""
    teacher = run.teacher
    assert teacher is not None, "prepare refuses a run without one"
    if teacher.mean_return is not None:
        return
    mean = run.examine(value_policy(teacher.q_values), lessons.teacher_eval_episodes)
    if mean is not None:
        teacher.mean_return = mean
        run.log({"charts/teacher/avg_episodic_return": mean})


def watch_teacher(
    run: Run, lessons: Lessons, envs: EnvBatch, replay: FrameReplay, phases: Phases, obs: Array
) -> Array:
    """Fill the replay buffer with the teacher's play, which explores less and less."""
    assert run.teacher is not None
    while run.step < phases.teacher_until and not run.should_stop:
        done = run.step - phases.start
        epsilon = linear(lessons.start_e, lessons.end_e, lessons.teacher_steps, done)
        chosen = epsilon_greedy(run.teacher.q_values(obs), epsilon, run.rng)
        run.budget.lap("acting")
        step = envs.step(chosen)
        run.budget.lap("environment")
        replay.add(obs, chosen, step)
        before, run.step = run.step, run.step + envs.num_envs
        if times_due(LOG_INTERVAL, before, run.step):
            run.log_update({"charts/epsilon": epsilon})
        obs = run.boundary(envs, step.obs)
    return obs


def check_rows(run: Run, replay: FrameReplay, phases: Phases) -> None:
    """Refuse to go on with offline updates where the resumed checkpoint kept no rows for them."""
    if phases.teacher_until <= run.step < phases.offline_until and not len(replay):
        raise ConfigError(
            f"The checkpoint of step {run.step} holds no replay buffer, and offline updates up to "
            f"step {phases.offline_until} need the teacher's rows.",
            hint="Resume from the latest checkpoint of a run with checkpoint_replay=latest or all.",
        )


def examine_student(run: Run, lessons: Lessons, phases: Phases, q_values: Infer) -> None:
    """Let the student play now and then while it learns offline, and at the end of that."""
    done = run.step - phases.teacher_until
    if times_due(EXAMINATION_INTERVAL, done - 1, done) or run.step >= phases.offline_until:
        mean = run.examine(value_policy(q_values), lessons.teacher_eval_episodes)
        if mean is not None:
            run.log({"charts/offline/avg_episodic_return": mean})


def begin_own_play(
    run: Run, envs: EnvBatch, replay: FrameReplay, phases: Phases, obs: Array
) -> Array:
    """Leave the teacher's rows behind: the student learns from games of its own from here on."""
    if phases.own_rows_from is None and not run.should_stop:
        phases.own_rows_from = replay.total
        obs = run.renew(envs)  # no game of the teacher's is played on
    if phases.own_rows_from is not None:
        # A resume without the saved rows starts with an empty buffer.
        phases.own_rows_from = min(phases.own_rows_from, replay.total)
        replay.forget_before(phases.own_rows_from)
    return obs


def own_epsilon(run: Run, lessons: Lessons, phases: Phases) -> float:
    """Return the student's exploration, which begins with its own play."""
    steps = lessons.exploration_fraction * (run.total_timesteps - phases.offline_until)
    return linear(lessons.start_e, lessons.end_e, steps, run.step - phases.offline_until)


def present_weight(run: Run) -> float:
    """Return the weight of the distillation by what the student has reached so far."""
    assert run.teacher is not None
    student = run.mean_return(RETURN_WINDOW)
    if student is None or run.teacher.mean_return is None:
        return 1.0
    return distillation_weight(student, run.teacher.mean_return)


def own_measures(
    losses: Mapping[str, SupportsFloat], epsilon: float, weight: float
) -> dict[str, SupportsFloat]:
    """Return by their tags what CleanRL logs of an update on the student's own rows."""
    named = {f"losses/{name}": value for name, value in losses.items()}
    return {**named, "charts/epsilon": epsilon, "charts/distill_coeff": weight}


def distillation_weight(student: float, teacher: float) -> float:
    """Return how far the student is behind its teacher: 1 at the start, 0 once it is as good.

    With returns above zero it is 1 - student / teacher, as in CleanRL; that would grow with the
    student's success where the teacher's return is below zero, as in Pong.
    """
    largest = max(abs(student), abs(teacher))
    return 0.0 if largest == 0 else min(max((teacher - student) / largest, 0.0), 1.0)
