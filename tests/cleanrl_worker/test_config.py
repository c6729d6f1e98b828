"""The CleanRL worker's config: command line over file, and no secret where it could be stored."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from cleanrl_worker.config import CleanRLWorkerConfig, load_config, parse_config
from mosaic.contracts.errors import ConfigError, NotAllowed

FLAT: dict[str, Any] = {
    "run_id": "run-1",
    "algo": "ppo",
    "env_id": "CartPole-v1",
    "total_timesteps": 1000,
    "seed": 1,
    "extras": {"notes": "first", "algo_params": {"num_envs": 4, "gamma": 0.9}},
}

CANARY = "canary-0123456789"


@pytest.fixture(autouse=True)
def _own_var_dir(var_dir: Path) -> None:
    """Keep the operator's settings of this machine out of the tests."""


def config_with(**extras: Any) -> CleanRLWorkerConfig:
    return parse_config({**FLAT, "extras": extras})


def test_a_file_becomes_a_frozen_config(tmp_path: Path) -> None:
    path = tmp_path / "cfg.json"
    path.write_text(json.dumps(FLAT))
    config = load_config(path)
    assert (config.run_id, config.algo, config.total_timesteps) == ("run-1", "ppo", 1000)
    assert config.raw == FLAT
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.seed = 2  # type: ignore[misc]


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"run_id": NaN'])
def test_a_file_that_is_no_json_object_is_one_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "cfg.json"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    assert "\n" not in caught.value.one_line()


def test_the_command_line_wins_key_by_key() -> None:
    config = parse_config(FLAT).with_overrides(
        seed=7, extras={"algo_params": {"gamma": 0.5}, "save_model": False}
    )
    assert config.seed == 7
    assert config.total_timesteps == 1000
    assert config.extras == {
        "notes": "first",
        "save_model": False,
        "algo_params": {"num_envs": 4, "gamma": 0.5},
    }


def test_the_command_line_wins_over_an_older_name_of_the_same_key() -> None:
    config = config_with(use_cuda=True).with_overrides(extras={"cuda": False})
    assert config.options["cuda"] is False


def test_the_command_line_may_give_what_the_file_leaves_out(tmp_path: Path) -> None:
    path = tmp_path / "cfg.json"
    path.write_text(json.dumps({"run_id": "run-1", "env_id": "CartPole-v1"}))
    config = load_config(path, {"algo": "ppo", "total_timesteps": 10, "seed": None})
    assert (config.algo, config.total_timesteps, config.seed) == ("ppo", 10, None)


def test_an_override_is_checked_like_the_file() -> None:
    with pytest.raises(ConfigError, match="total_timesteps=0"):
        parse_config(FLAT).with_overrides(total_timesteps=0)


def test_secrets_are_taken_out_and_kept_in_memory_alone() -> None:
    config = config_with(wandb_api_key=CANARY, algo_params={"hf_token": CANARY, "gamma": 0.9})
    assert config.secrets == {"WANDB_API_KEY": CANARY, "HF_TOKEN": CANARY}
    assert config.extras == {"algo_params": {"gamma": 0.9}}
    assert config.raw["extras"]["wandb_api_key"] == "***"
    for text in (repr(config), json.dumps(config.to_json()), json.dumps(config.raw)):
        assert CANARY not in text


def test_a_secret_of_the_command_line_is_taken_out_too() -> None:
    config = parse_config(FLAT).with_overrides(extras={"wandb_api_key": CANARY})
    assert config.secrets == {"WANDB_API_KEY": CANARY}
    assert CANARY not in repr(config)


def test_a_gpu_counts_as_reserved_where_the_run_config_asked_for_one() -> None:
    def reserved(gpus: int) -> bool:
        resources = {"gpus": {"requested": gpus}}
        document = {"metadata": {"worker": {"config": FLAT}}, "resources": resources}
        return parse_config(document).has_reserved_gpu

    assert reserved(1)
    assert not reserved(0)
    assert not parse_config(FLAT).has_reserved_gpu


def test_a_reserved_gpu_survives_an_override() -> None:
    document = {
        "metadata": {"worker": {"config": FLAT}},
        "resources": {"gpus": {"requested": 1}},
    }
    assert parse_config(document).with_overrides(seed=3).has_reserved_gpu


def test_an_id_that_imports_a_module_needs_the_operators_word(var_dir: Path) -> None:
    document = {**FLAT, "env_id": "my_envs:Maze-v0"}
    with pytest.raises(NotAllowed) as caught:
        parse_config(document)
    assert "env_modules under [allow] in var/mosaic.toml" in caught.value.one_line()
    (var_dir / "mosaic.toml").write_text('[allow]\nenv_modules = ["my_envs"]\n')
    assert parse_config(document).env_id == "my_envs:Maze-v0"


@pytest.mark.parametrize(
    "extras",
    [
        {"mode": "dance"},
        {"cuda": "yes"},
        {"cuda": True, "use_cuda": False},
        {"algo_params": [1]},
        {"keep_checkpoints": 0},
        {"fastlane_video_mode": "loud"},
    ],
)
def test_a_reserved_key_is_checked_where_it_enters(extras: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"^extras\."):
        config_with(**extras)
