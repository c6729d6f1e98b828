"""The reserved keys of `extras`: all of the contract's table, and how each is checked."""

from __future__ import annotations

import re
from typing import Any

import pytest

from mosaic.contracts.errors import ConfigError
from mosaic.contracts.extras import RESERVED, check_reserved

TABLE = frozenset(
    re.findall(
        r"\w+",
        """
mode cuda use_cuda algo_params tensorboard_dir tensorboard track_wandb wandb_project_name
wandb_project wandb_entity wandb_run_name wandb_email wandb_http_proxy wandb_https_proxy
wandb_use_vpn_proxy wandb_mode capture_video save_model upload_model hf_entity checkpoint_interval
keep_checkpoints checkpoint_replay checkpoint_path auto_resume policy_path eval_batch_size
eval_episodes eval_repeat eval_gamma eval_capture_video eval_deterministic eval_max_episode_steps
eval_max_episode_seconds seed_override curriculum_schedule curriculum teacher_policy_path
train_teacher_steps fastlane_video_mode video_mode fastlane_slot
fastlane_grid_limit grid_limit fastlane_interval_ms fastlane_max_dim fastlane_budget
fastlane_view_budget fastlane_only runbus_summary cleanrl_home bundle schema_id schema_version
supports_pause supports_checkpoint optuna_db checkpoints_dir wandb_run_path notes agent_id
""",
    )
)

DEFAULTS = {
    "mode": "train",
    "save_model": True,
    "keep_checkpoints": 3,
    "checkpoint_replay": "latest",
    "eval_batch_size": 50,
    "eval_capture_video": False,
    "eval_deterministic": True,
    "fastlane_video_mode": "single",
    "fastlane_slot": 0,
    "fastlane_interval_ms": 33,
    "fastlane_max_dim": 480,
    "fastlane_budget": 0.02,
    "fastlane_view_budget": 0.05,
}


def test_every_key_of_the_table_is_reserved_and_no_other() -> None:
    assert set(RESERVED) == set(TABLE)


@pytest.mark.parametrize(("name", "default"), DEFAULTS.items())
def test_defaults_are_the_contracts(name: str, default: Any) -> None:
    assert RESERVED[name].default == default


def test_every_key_is_explained() -> None:
    assert all(key.help.endswith(".") for key in RESERVED.values())


@pytest.mark.parametrize(
    ("alias", "proper", "value"),
    [
        ("use_cuda", "cuda", True),
        ("tensorboard", "tensorboard_dir", "tb"),
        ("wandb_project", "wandb_project_name", "p"),
        ("eval_episodes", "eval_batch_size", 5),
        ("video_mode", "fastlane_video_mode", "grid"),
        ("grid_limit", "fastlane_grid_limit", 4),
    ],
)
def test_an_alias_is_read_under_its_proper_name(alias: str, proper: str, value: Any) -> None:
    assert check_reserved({alias: value}) == {proper: value}
    assert check_reserved({alias: value, proper: value}) == {proper: value}


def test_an_alias_that_contradicts_is_refused() -> None:
    with pytest.raises(ConfigError, match="contradicts"):
        check_reserved({"cuda": True, "use_cuda": False})


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("mode", "trian", "give one of train, resume_training, policy_eval, interactive"),
        ("cuda", "yes", "give true or false"),
        ("keep_checkpoints", 0, "of at least 1"),
        ("fastlane_grid_limit", 17, "from 1 to 16"),
        ("algo_params", [], "give a JSON object"),
        ("curriculum_schedule", {}, "give a JSON list"),
        ("checkpoint_replay", "some", "one of latest, all, none"),
        ("eval_gamma", 1.5, "from 0 to 1"),
    ],
)
def test_a_wrong_value_is_refused_by_name(name: str, value: Any, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check_reserved({name: value})
    assert caught.value.message.startswith(f"extras.{name}={value!r} is not allowed")
    assert words in caught.value.message


def test_a_browsers_float_is_a_whole_number_and_null_turns_off() -> None:
    checked = check_reserved({"checkpoint_interval": 1000000.0, "tensorboard_dir": None})
    assert checked == {"checkpoint_interval": 1000000, "tensorboard_dir": None}
    assert isinstance(checked["checkpoint_interval"], int)


def test_other_keys_are_left_to_the_algorithm() -> None:
    assert check_reserved({"learning_rate": 0.1, "notes": "n"}) == {"notes": "n"}
