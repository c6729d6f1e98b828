"""Parameters: declared once; checked, written as flags and read back without loss."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mosaic.contracts.errors import ConfigError
from mosaic.contracts.parameters import (
    Parameter,
    build,
    param,
    parameters_of,
    parse_flags,
    parse_given,
    to_flags,
)


@dataclass(frozen=True)
class Config:
    num_envs: int = param(4, "Environments.", range=(1, None))
    learning_rate: float = param(2.5e-4, "Learning rate.", range=(0, 1), group="optimiser")
    anneal_lr: bool = param(True, "Let it fall.")
    target_kl: float | None = param(None, "Largest KL.")
    backend: str = param("auto", "How.", choices=("auto", "sync"))
    sizes: tuple[int, ...] = param((64, 64), "Layers.", range=(1, None))
    name: str | None = param(None, "A name.")


PARAMETERS = parameters_of(Config)
BY_NAME = {parameter.name: parameter for parameter in PARAMETERS}


def parse(*flags: str) -> dict[str, Any]:
    return parse_flags(PARAMETERS, flags, owner="ppo")


def test_a_declaration_is_data() -> None:
    lr = BY_NAME["learning_rate"]
    assert (lr.type, lr.default, lr.range, lr.group) == ("float", 2.5e-4, (0, 1), "optimiser")
    assert BY_NAME["target_kl"].optional
    assert BY_NAME["sizes"].type == "int[]"
    for parameter in PARAMETERS:
        assert Parameter.from_json(json.loads(json.dumps(parameter.to_json()))).name in BY_NAME


def test_a_recipe_changes_a_default() -> None:
    assert parameters_of(Config, {"num_envs": 8})[0].default == 8


@pytest.mark.parametrize(
    ("name", "value", "flags"),
    [
        ("anneal_lr", True, ["--anneal-lr"]),
        ("anneal_lr", False, ["--no-anneal-lr"]),
        ("target_kl", None, ["--target-kl=None"]),
        ("num_envs", 1000000.0, ["--num-envs=1000000"]),
        ("learning_rate", 0.001, ["--learning-rate=0.001"]),
        ("backend", "sync", ["--backend=sync"]),
        ("sizes", [1, 2], ["--sizes", "1", "2"]),
    ],
)
def test_a_value_becomes_the_flag_of_the_contract(name: str, value: Any, flags: list[str]) -> None:
    assert to_flags(BY_NAME[name], value) == flags


@pytest.mark.parametrize(
    ("name", "value", "line"),
    [
        ("num_envs", 0, "num_envs=0 is not allowed: give a whole number of at least 1."),
        ("num_envs", 1.5, "num_envs=1.5 is not allowed: give a whole number of at least 1."),
        ("num_envs", True, "num_envs=True is not allowed"),
        ("num_envs", None, "num_envs=null is not allowed"),
        ("num_envs", "4", "num_envs='4' is not allowed"),
        ("learning_rate", 2, "learning_rate=2 is not allowed: give a number from 0 to 1."),
        ("learning_rate", float("nan"), "learning_rate=nan is not allowed"),
        ("anneal_lr", 1, "anneal_lr=1 is not allowed: give true or false."),
        ("backend", "asnc", "backend='asnc' is not allowed: give one of auto, sync."),
        ("sizes", 3, "sizes=3 is not allowed: give a list of int values"),
        ("sizes", [0], "sizes=0 is not allowed"),
        ("target_kl", "x", "target_kl='x' is not allowed: give a number, or null."),
    ],
)
def test_a_wrong_value_is_named_with_what_is_allowed(name: str, value: Any, line: str) -> None:
    with pytest.raises(ConfigError) as caught:
        to_flags(BY_NAME[name], value)
    assert caught.value.message.startswith(line)


def test_a_limit_is_shown_in_full() -> None:
    assert Parameter("s", "int", 0, "", range=(0, 2**32 - 1)).allowed().endswith("0 to 4294967295")
    assert Parameter("s", "float", 0, "", range=(0.5, None)).allowed().endswith("at least 0.5")


VALUES = st.fixed_dictionaries(
    {
        "num_envs": st.integers(1, 10**9),
        "learning_rate": st.floats(0, 1),
        "anneal_lr": st.booleans(),
        "target_kl": st.none() | st.floats(allow_nan=False, allow_infinity=False),
        "backend": st.sampled_from(["auto", "sync"]),
        "sizes": st.lists(st.integers(1, 999), min_size=1, max_size=3).map(tuple),
        "name": st.none() | st.text().filter(lambda text: text != "None"),
    }
)


@given(VALUES)
def test_what_is_written_as_flags_is_read_back(values: dict[str, Any]) -> None:
    flags = [flag for name, value in values.items() for flag in to_flags(BY_NAME[name], value)]
    assert parse(*flags) == values
    assert build(Config, parse(*flags)) == Config(**values)


def test_without_flags_the_defaults_stand() -> None:
    assert build(Config, parse()) == Config()
    assert parse_given(PARAMETERS, [], owner="ppo") == ({}, [])


def test_both_spellings_and_scientific_numbers_are_read() -> None:
    assert parse("--num_envs", "1e3")["num_envs"] == 1000
    assert parse("--num-envs", "8")["num_envs"] == 8
    assert parse("--no-anneal-lr")["anneal_lr"] is False
    assert parse("--no-anneal_lr")["anneal_lr"] is False


@pytest.mark.parametrize("text", ["-3e-4", "-1", "-.5"])
def test_a_negative_number_is_a_value_and_no_flag(text: str) -> None:
    assert parse("--target-kl", text)["target_kl"] == float(text)


def test_an_unknown_flag_is_named_with_the_nearest() -> None:
    with pytest.raises(ConfigError) as caught:
        parse("--learning-rat=1")
    line = caught.value.one_line()
    assert "ppo has no parameter 'learning_rat'. Did you mean 'learning_rate'?" in line


def test_an_abbreviation_is_not_guessed() -> None:
    with pytest.raises(ConfigError, match="learning"):
        parse("--learning=0.1")
