"""The worker config: two forms, every field checked, every error one line that names its place."""

from __future__ import annotations

from typing import Any

import pytest

from mosaic.contracts.errors import ConfigError
from mosaic.contracts.worker_config import (
    Reservation,
    check_worker_config,
    extract_reservation,
    extract_worker_config,
)

FLAT: dict[str, Any] = {
    "run_id": "01J00000000000000000000001",
    "algo": "ppo",
    "env_id": "CartPole-v1",
    "total_timesteps": 1000,
    "seed": 1,
}


def nested(config: Any = FLAT, **more: Any) -> dict[str, Any]:
    return {"run_name": "a", "metadata": {"worker": {"config": config}}, **more}


def test_the_flat_and_the_nested_form_hold_the_same_config() -> None:
    assert extract_worker_config(FLAT) == FLAT
    assert extract_worker_config(nested()) == FLAT


@pytest.mark.parametrize(
    ("document", "path"),
    [
        ({"metadata": {}}, "metadata.worker is missing"),
        ({"metadata": {"worker": {}}}, "metadata.worker.config is missing"),
        ({"metadata": None}, "metadata is null: give a JSON object"),
        ({"metadata": {"worker": []}}, "metadata.worker is a list: give a JSON object"),
        (nested("ppo"), "metadata.worker.config is text: give a JSON object"),
        ([FLAT], "The config is a list: give a JSON object"),
        (7, "The config is a number: give a JSON object"),
    ],
)
def test_a_missing_level_or_a_wrong_type_is_named_by_its_full_path(
    document: Any, path: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        extract_worker_config(document)
    assert caught.value.one_line().startswith(path)


def test_an_unknown_key_is_named_with_the_nearest_known_one() -> None:
    with pytest.raises(ConfigError, match=r"'total_timestep'\. Did you mean 'total_timesteps'"):
        check_worker_config({**FLAT, "total_timestep": 5})


def test_what_may_be_absent_is_none() -> None:
    config = check_worker_config({key: FLAT[key] for key in FLAT if key != "seed"})
    assert config["seed"] is None
    assert config["worker_id"] is None
    assert config["extras"] == {}


def test_seed_zero_is_the_seed_zero() -> None:
    assert check_worker_config({**FLAT, "seed": 0})["seed"] == 0


def test_a_browsers_whole_number_is_a_whole_number() -> None:
    checked = check_worker_config({**FLAT, "total_timesteps": 1e6})["total_timesteps"]
    assert checked == 1_000_000
    assert isinstance(checked, int)


@pytest.mark.parametrize("key", ["run_id", "algo", "env_id", "total_timesteps"])
def test_a_required_key_that_is_missing_is_named(key: str) -> None:
    with pytest.raises(ConfigError, match=f"{key} is missing"):
        check_worker_config({name: value for name, value in FLAT.items() if name != key})


def test_only_a_policy_evaluation_may_leave_the_budget_out() -> None:
    config = {key: value for key, value in FLAT.items() if key != "total_timesteps"}
    checked = check_worker_config({**config, "extras": {"mode": "policy_eval"}})
    assert checked["total_timesteps"] is None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("run_id", "../escape"),
        ("run_id", ""),
        ("run_id", "a" * 65),
        ("run_id", "a/b"),
        ("run_id", "run\n"),
        ("run_id", 7),
        ("algo", ""),
        ("algo", None),
        ("env_id", " "),
        ("env_id", "CartPole\x00-v1"),
        ("env_id", "Cart\nPole"),
        ("env_id", 3),
        ("total_timesteps", 0),
        ("total_timesteps", -5),
        ("total_timesteps", 1.5),
        ("total_timesteps", "1000"),
        ("total_timesteps", True),
        ("total_timesteps", None),
        ("seed", -1),
        ("seed", 2**32),
        ("seed", "1"),
        ("worker_id", 3),
        ("agent_id", ""),
        ("extras", []),
    ],
)
def test_a_wrong_value_is_one_line_that_names_the_field(key: str, value: Any) -> None:
    with pytest.raises(ConfigError) as caught:
        check_worker_config({**FLAT, key: value})
    assert key in caught.value.one_line()
    assert "\n" not in caught.value.one_line()


def test_a_run_config_tells_what_was_reserved() -> None:
    resources = {"cpus": 2, "memory_mb": 900, "gpus": {"requested": 1, "mandatory": True}}
    assert extract_reservation(nested(resources=resources)) == Reservation(2, 900, 1)
    assert extract_reservation(nested(resources={"cpus": 2})) == Reservation(2, None, 0)
    assert extract_reservation(FLAT) is None


def test_a_reservation_of_the_wrong_type_is_named() -> None:
    with pytest.raises(ConfigError, match=r"resources\.gpus\.requested='all'"):
        extract_reservation(nested(resources={"gpus": {"requested": "all"}}))
