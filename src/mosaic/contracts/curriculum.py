"""Curricula: the stages of a training, and the conditions under which one ends.

A condition is text in the grammar of Syllabus-RL: comparisons such as `steps>=100000`, joined with
`&` (all of them) and `|` (any of them), of which `&` binds tighter. Spaces do not matter. All of it
is checked before a run starts.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mosaic.contracts.errors import ConfigError, suggest
from mosaic.contracts.worker_config import check_text

DEFAULT_CONDITION = "steps>=100000"
# Of the stage where not `total_`; the return is the mean of the stage's latest episodes.
METRICS = ("steps", "episodes", "episode_return", "total_steps", "total_episodes")
STAGE_KEYS = ("env_id", "steps", "episodes", "episode_return", "until")

ENGINES = ("syllabus",)
METHODS = ("plr", "learning_progress", "domain_randomization")
ENGINE_KEYS = ("engine", "method", "tasks")

_OPERATORS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "=": operator.eq,
    ">": operator.gt,
    "<": operator.lt,
}
_COMPARISON = re.compile(r"\s*(\w+)\s*(>=|<=|==|=|>|<)\s*(\S+)\s*", re.ASCII)

BABYAI_GOTO_CURRICULUM: tuple[dict[str, Any], ...] = (
    {"env_id": "BabyAI-GoToRedBallNoDists-v0", "steps": 200_000},
    {"env_id": "BabyAI-GoToRedBall-v0", "steps": 200_000},
    {"env_id": "BabyAI-GoToObj-v0", "steps": 200_000},
    {"env_id": "BabyAI-GoToLocal-v0"},
)
BABYAI_DOORKEY_CURRICULUM: tuple[dict[str, Any], ...] = (
    {"env_id": "MiniGrid-DoorKey-5x5-v0", "steps": 100_000},
    {"env_id": "MiniGrid-DoorKey-6x6-v0", "steps": 150_000},
    {"env_id": "MiniGrid-DoorKey-8x8-v0", "steps": 200_000},
    {"env_id": "MiniGrid-DoorKey-16x16-v0"},
)
PRESETS: dict[str, tuple[dict[str, Any], ...]] = {
    "BABYAI_GOTO_CURRICULUM": BABYAI_GOTO_CURRICULUM,
    "BABYAI_DOORKEY_CURRICULUM": BABYAI_DOORKEY_CURRICULUM,
}


@dataclass(frozen=True, slots=True)
class Comparison:
    metric: str
    sign: str
    value: float

    def holds(self, counts: Mapping[str, float | None]) -> bool:
        """Say whether it holds; a metric that is not known yet makes it false."""
        known = counts[self.metric]
        return known is not None and _OPERATORS[self.sign](known, self.value)

    def __str__(self) -> str:
        return f"{self.metric}{self.sign}{self.value:.15g}"


@dataclass(frozen=True, slots=True)
class Condition:
    """Any of several alternatives, of each of which all comparisons must hold."""

    alternatives: tuple[tuple[Comparison, ...], ...]

    def met(self, counts: Mapping[str, float | None]) -> str | None:
        """Return the first alternative that holds, as text; None where none does."""
        for alternative in self.alternatives:
            if all(comparison.holds(counts) for comparison in alternative):
                return "&".join(map(str, alternative))
        return None

    def __str__(self) -> str:
        return "|".join("&".join(map(str, each)) for each in self.alternatives)


@dataclass(frozen=True, slots=True)
class CurriculumStage:
    """An environment, and when it has been trained on enough; None: never."""

    env_id: str
    condition: Condition | None

    def to_json(self) -> dict[str, Any]:
        until = None if self.condition is None else str(self.condition)
        return {"env_id": self.env_id, "until": until}


@dataclass(frozen=True, slots=True)
class AutomaticCurriculum:
    """Tasks of which an engine chooses, episode by episode."""

    engine: str
    method: str
    tasks: tuple[str, ...]


def parse_condition(text: str, place: str = "until") -> Condition:
    """Read a condition; one that cannot be read is refused with the part that is wrong."""
    return Condition(
        tuple(
            tuple(_parse_comparison(part, text, place) for part in alternative.split("&"))
            for alternative in text.split("|")
        )
    )


def _parse_comparison(part: str, text: str, place: str) -> Comparison:
    found = _COMPARISON.fullmatch(part)
    if found is None:
        raise ConfigError(
            f"{place}={text!r} is not allowed: {part.strip()!r} is no comparison.",
            hint="Write it like steps>=100000|episode_return>=0.9&episodes>=100.",
        )
    metric, sign, number = found.groups()
    if metric not in METRICS:
        raise ConfigError(
            f"{place}={text!r} is not allowed: {metric!r} is no metric.{suggest(metric, METRICS)}",
            hint=f"The metrics are {', '.join(METRICS)}.",
        )
    try:
        value = float(number)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ConfigError(f"{place}={text!r} is not allowed: {number!r} is no finite number.")
    return Comparison(metric, sign, value)


def parse_schedule(schedule: Any) -> tuple[CurriculumStage, ...]:
    """Read `curriculum_schedule`; the last stage runs to the budget, whatever it says."""
    place = "extras.curriculum_schedule"
    if not isinstance(schedule, Sequence) or isinstance(schedule, str) or not schedule:
        raise ConfigError(f"{place}={schedule!r} is not allowed: give a list of stages.")
    stages = [_parse_stage(stage, f"{place}[{index}]") for index, stage in enumerate(schedule)]
    return (*stages[:-1], CurriculumStage(stages[-1].env_id, None))


def _parse_stage(stage: Any, place: str) -> CurriculumStage:
    if not isinstance(stage, Mapping):
        raise ConfigError(f"{place}={stage!r} is not allowed: give an object with env_id.")
    _check_keys(stage, STAGE_KEYS, place)
    if "env_id" not in stage:
        raise ConfigError(f"{place}.env_id is missing: name the environment of the stage.")
    env_id = check_text(f"{place}.env_id", stage["env_id"])
    alternatives: tuple[tuple[Comparison, ...], ...] = tuple(
        (Comparison(name, ">=", _bound(f"{place}.{name}", stage[name])),)
        for name in ("steps", "episodes", "episode_return")
        if stage.get(name) is not None
    )
    if stage.get("until") is not None:
        until = check_text(f"{place}.until", stage["until"])
        alternatives += parse_condition(until, f"{place}.until").alternatives
    if not alternatives:
        alternatives = parse_condition(DEFAULT_CONDITION).alternatives
    return CurriculumStage(env_id, Condition(alternatives))


def _bound(place: str, value: Any) -> float:
    """Check a number of a stage; a count is at least 1, a return any finite number."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if is_number and place.endswith("episode_return") and math.isfinite(value):
        return float(value)
    if is_number and math.isfinite(value) and value >= 1 and float(value).is_integer():
        return float(value)
    allowed = "finite number" if place.endswith("episode_return") else "whole number from 1"
    raise ConfigError(f"{place}={value!r} is not allowed: give a {allowed}.")


def parse_automatic(curriculum: Any) -> AutomaticCurriculum:
    """Read `curriculum`: the engine, its method, and the tasks that it chooses from."""
    place = "extras.curriculum"
    if not isinstance(curriculum, Mapping):
        raise ConfigError(f"{place}={curriculum!r} is not allowed: give a JSON object.")
    _check_keys(curriculum, ENGINE_KEYS, place)
    engine = _choice(f"{place}.engine", curriculum.get("engine", ENGINES[0]), ENGINES)
    method = _choice(f"{place}.method", curriculum.get("method"), METHODS)
    tasks = curriculum.get("tasks")
    if not isinstance(tasks, Sequence) or isinstance(tasks, str) or len(tasks) < 2:
        raise ConfigError(f"{place}.tasks={tasks!r} is not allowed: give at least two env_ids.")
    named = tuple(check_text(f"{place}.tasks[{n}]", task) for n, task in enumerate(tasks))
    twice = next((task for task in named if named.count(task) > 1), None)
    if twice is not None:
        raise ConfigError(f"{place}.tasks names {twice!r} twice: name each environment once.")
    return AutomaticCurriculum(engine, method, named)


def _choice(place: str, value: Any, allowed: Sequence[str]) -> str:
    if value not in allowed:
        raise ConfigError(f"{place}={value!r} is not allowed: give one of {', '.join(allowed)}.")
    return str(value)


def _check_keys(given: Mapping[str, Any], known: Sequence[str], place: str) -> None:
    for name in given:
        if name not in known:
            raise ConfigError(f"{place}.{name} is unknown.{suggest(str(name), known)}")


def curriculum_envs(extras: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the environments of a config's curriculum, all of it checked; none: no curriculum."""
    schedule, automatic = extras.get("curriculum_schedule"), extras.get("curriculum")
    if schedule is not None and automatic is not None:
        raise ConfigError(
            "extras.curriculum_schedule and extras.curriculum contradict each other: give one."
        )
    if schedule is not None:
        return tuple(stage.env_id for stage in parse_schedule(schedule))
    return () if automatic is None else parse_automatic(automatic).tasks


def check_curriculum(extras: Mapping[str, Any], env_id: str) -> None:
    """Refuse a curriculum that cannot be read, or that never comes to the run's environment."""
    envs = curriculum_envs(extras)
    if envs and env_id not in envs:
        raise ConfigError(
            f"env_id={env_id!r} is no environment of the curriculum: it names the one that the "
            f"policy is for. Give {envs[-1]!r}."
        )


def named_schedule(name: str) -> list[dict[str, Any]] | None:
    """Return the stages of a preset; None where there is none of that name."""
    preset = PRESETS.get(name.strip().upper())
    return None if preset is None else [dict(stage) for stage in preset]
