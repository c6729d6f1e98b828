"""Stages and conditions: what is read, and what is refused before a run starts."""

from __future__ import annotations

from typing import Any

import pytest

from mosaic.contracts.curriculum import (
    PRESETS,
    check_curriculum,
    curriculum_envs,
    named_schedule,
    parse_automatic,
    parse_condition,
    parse_schedule,
)
from mosaic.contracts.errors import ConfigError

COUNTS: dict[str, float | None] = {
    "steps": 100,
    "episodes": 5,
    "episode_return": 0.5,
    "total_steps": 1_000,
    "total_episodes": 50,
}


@pytest.mark.parametrize(
    ("text", "met"),
    [
        ("steps>=100", "steps>=100"),
        ("steps >= 100", "steps>=100"),
        ("steps>100", None),
        ("steps==100", "steps==100"),
        ("steps=100", "steps=100"),
        ("episodes<6", "episodes<6"),
        ("episodes<=4|episode_return>=0.5", "episode_return>=0.5"),
        ("steps>=1e2", "steps>=100"),
        ("total_steps>=1000 & total_episodes >= 50", "total_steps>=1000&total_episodes>=50"),
        # & binds tighter: the first holds by itself, then neither side does.
        ("steps>=1|episodes>=9&episode_return>=9", "steps>=1"),
        ("episodes>=9&steps>=1|episode_return>=9", None),
        ("episodes>=9&steps>=1|episode_return>=0.1", "episode_return>=0.1"),
    ],
)
def test_conditions(text: str, met: str | None) -> None:
    assert parse_condition(text).met(COUNTS) == met


def test_a_return_that_is_not_known_meets_nothing() -> None:
    unknown = {**COUNTS, "episode_return": None}
    assert parse_condition("episode_return>=-1|episode_return<9").met(unknown) is None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "'' is no comparison"),
        ("steps>=100|", "'' is no comparison"),
        ("steps!=100", "'steps!=100' is no comparison"),
        ("(steps>=100)", "is no comparison"),
        ("step>=100", "'step' is no metric. Did you mean 'steps'?"),
        ("steps>=100|tasks>3", "'tasks' is no metric"),
        ("steps>=many", "'many' is no finite number"),
        ("steps>=nan", "'nan' is no finite number"),
    ],
)
def test_conditions_are_refused_eagerly(text: str, says: str) -> None:
    with pytest.raises(ConfigError) as refused:
        parse_condition(text)
    assert says in refused.value.one_line()


def test_a_stage_ends_when_any_of_its_conditions_holds() -> None:
    first, second, last = parse_schedule(
        [
            {"env_id": "A", "steps": 7.0, "episodes": 3, "until": "episode_return>=1&steps>=5"},
            {"env_id": "B"},
            {"env_id": "C", "steps": 5},
        ]
    )
    assert str(first.condition) == "steps>=7|episodes>=3|episode_return>=1&steps>=5"
    assert str(second.condition) == "steps>=100000", "the default"
    assert last.condition is None, "the last one runs to the budget"


@pytest.mark.parametrize(
    ("schedule", "says"),
    [
        ([], "give a list of stages"),
        ("A", "give a list of stages"),
        (["A"], "[0]='A' is not allowed: give an object with env_id"),
        ([{"steps": 5}], "[0].env_id is missing"),
        ([{"env_id": "A", "step": 5}], "[0].step is unknown. Did you mean 'steps'?"),
        ([{"env_id": "A", "steps": 0}], "[0].steps=0 is not allowed: give a whole number from 1"),
        ([{"env_id": "A", "episodes": True}], "[0].episodes=True is not allowed"),
        ([{"env_id": "A", "episode_return": "x"}], "give a finite number"),
        ([{"env_id": ""}], "[0].env_id='' is not allowed"),
    ],
)
def test_schedules_are_refused_by_name(schedule: Any, says: str) -> None:
    with pytest.raises(ConfigError) as refused:
        parse_schedule(schedule)
    assert says in refused.value.one_line()


def test_the_presets_are_the_contracts() -> None:
    goto = parse_schedule(named_schedule("BABYAI_GOTO_CURRICULUM"))
    assert [(stage.env_id.split("-")[1], str(stage.condition)) for stage in goto] == [
        ("GoToRedBallNoDists", "steps>=200000"),
        ("GoToRedBall", "steps>=200000"),
        ("GoToObj", "steps>=200000"),
        ("GoToLocal", "None"),
    ]
    doorkey = parse_schedule(named_schedule("babyai_doorkey_curriculum"))
    assert [(stage.env_id.split("-")[2], str(stage.condition)) for stage in doorkey] == [
        ("5x5", "steps>=100000"),
        ("6x6", "steps>=150000"),
        ("8x8", "steps>=200000"),
        ("16x16", "None"),
    ]
    assert set(PRESETS) == {"BABYAI_GOTO_CURRICULUM", "BABYAI_DOORKEY_CURRICULUM"}
    assert named_schedule("OTHER") is None


def test_an_automatic_curriculum() -> None:
    found = parse_automatic({"method": "plr", "tasks": ["A", "B"]})
    assert (found.engine, found.method, found.tasks) == ("syllabus", "plr", ("A", "B"))


@pytest.mark.parametrize(
    ("curriculum", "says"),
    [
        ({"method": "plr", "tasks": ["A"]}, "give at least two env_ids"),
        ({"method": "plr", "tasks": ["A", "A"]}, "names 'A' twice"),
        ({"method": "magic", "tasks": ["A", "B"]}, "give one of plr, learning_progress, domain"),
        ({"engine": "other", "method": "plr", "tasks": ["A", "B"]}, "engine='other'"),
        ({"methods": "plr"}, "methods is unknown. Did you mean 'method'?"),
    ],
)
def test_automatic_curricula_are_refused_by_name(curriculum: Any, says: str) -> None:
    with pytest.raises(ConfigError) as refused:
        parse_automatic(curriculum)
    assert says in refused.value.one_line()


def test_one_curriculum_that_comes_to_the_runs_environment() -> None:
    stages = [{"env_id": "A"}, {"env_id": "B"}]
    assert curriculum_envs({"curriculum_schedule": stages}) == ("A", "B")
    assert curriculum_envs({}) == ()
    check_curriculum({"curriculum_schedule": stages}, "B")
    with pytest.raises(ConfigError, match=r"policy is for\. Give 'B'"):
        check_curriculum({"curriculum_schedule": stages}, "C")
    automatic = {"method": "plr", "tasks": ["A", "B"]}
    with pytest.raises(ConfigError, match="contradict each other"):
        check_curriculum({"curriculum_schedule": stages, "curriculum": automatic}, "A")
