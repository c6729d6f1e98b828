"""From a config to the exact argument list of the algorithm process."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cleanrl_worker.arguments import build_arguments, warnings_of
from cleanrl_worker.config import CleanRLWorkerConfig
from cleanrl_worker.plan import plan_launch
from mosaic.contracts.errors import ConfigError
from mosaic.contracts.parameters import Parameter
from mosaic.contracts.schema import AlgorithmSchema
from mosaic.contracts.worker_config import Reservation

ALGORITHM = AlgorithmSchema(
    name="toy",
    module="toy",
    summary="",
    env_families=(),
    extras=(),
    fields=(
        Parameter("num_envs", "int", 4, "", range=(1, None)),
        Parameter("gamma", "float", 0.99, "", range=(0, 1)),
        Parameter("anneal_lr", "bool", True, ""),
        Parameter("target_kl", "float", None, "", optional=True),
        Parameter("hidden", "int[]", (64, 64), ""),
    ),
    tuned=(),
)

ALWAYS = ["--env-id=CartPole-v1", "--total-timesteps=1000", "--seed=1"]
TENSORBOARD = "--tensorboard-dir=tensorboard"


@pytest.fixture(autouse=True)
def _own_var_dir(var_dir: Path) -> None:
    """Keep the operator's settings of this machine out of the tests."""


def config(gpus: int | None = None, **extras: Any) -> CleanRLWorkerConfig:
    return CleanRLWorkerConfig(
        run_id="r",
        algo="ppo",
        env_id="CartPole-v1",
        total_timesteps=1000,
        seed=1,
        extras=extras,
        reservation=None if gpus is None else Reservation(gpus=gpus),
    )


def with_cpus(cpus: int | None, **extras: Any) -> list[str]:
    reserved = replace(config(**extras), reservation=Reservation(cpus=cpus))
    return [flag for flag in build_arguments(reserved, ALGORITHM) if "env-cpus" in flag]


def arguments(**extras: Any) -> list[str]:
    """Return the arguments beyond those that every run has."""
    built = build_arguments(config(**extras), ALGORITHM)
    assert built[:3] == ALWAYS
    return built[3:]


def refusal(**extras: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        plan_launch(config(**extras))
    return caught.value.one_line()


def test_environments_have_the_processors_that_were_reserved() -> None:
    assert with_cpus(8) == ["--env-cpus=8"]
    assert with_cpus(1) == with_cpus(None) == []
    assert with_cpus(8, env_cpus=2) == with_cpus(8, algo_params={"env_cpus": 2}) == ["--env-cpus=2"]


def test_the_plain_config() -> None:
    assert arguments() == [TENSORBOARD]


@pytest.mark.parametrize(
    ("value", "flags"),
    [
        ({"num_envs": 8}, ["--num-envs=8"]),
        ({"num_envs": 1000000.0}, ["--num-envs=1000000"]),
        ({"gamma": 1}, ["--gamma=1.0"]),
        ({"anneal_lr": True}, ["--anneal-lr"]),
        ({"anneal_lr": False}, ["--no-anneal-lr"]),
        ({"target_kl": None}, ["--target-kl=None"]),
        ({"target_kl": 0.0}, ["--target-kl=0.0"]),
        ({"hidden": [32, 16]}, ["--hidden", "32", "16"]),
    ],
)
def test_a_hyperparameter_becomes_a_flag(value: dict[str, Any], flags: list[str]) -> None:
    assert arguments(algo_params=value) == [TENSORBOARD, *flags]
    assert arguments(**value) == [TENSORBOARD, *flags], "and so does one beside algo_params"


def test_a_null_for_what_cannot_be_null_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"extras\.algo_params\.gamma=null is not allowed"):
        arguments(algo_params={"gamma": None})


@pytest.mark.parametrize(
    ("asked", "gpus", "flags"),
    [
        (True, None, ["--cuda"]),
        (False, None, ["--no-cuda"]),
        (False, 1, ["--no-cuda"]),
        (None, 1, ["--cuda"]),
        (None, 0, []),
        (None, None, []),
    ],
)
def test_the_gpu_toggle_works_both_ways(
    asked: bool | None, gpus: int | None, flags: list[str]
) -> None:
    for name in ("cuda", "use_cuda"):
        extras = {} if asked is None else {name: asked}
        built = build_arguments(config(gpus, **extras), ALGORITHM)
        assert [flag for flag in built if "cuda" in flag] == flags


@pytest.mark.parametrize(
    ("value", "flag"),
    [
        ("tensorboard", TENSORBOARD),
        ("a/b", "--tensorboard-dir=a/b"),
        (None, "--tensorboard-dir=None"),
    ],
)
def test_the_event_files_lie_inside_the_run_directory(value: str | None, flag: str) -> None:
    assert arguments(tensorboard_dir=value) == [flag]
    assert arguments(tensorboard=value) == [flag]


@pytest.mark.parametrize("value", ["/tmp/x", "../x", "a/../../x", "", " ", "a\nb", "a\0b", "..\\x"])
def test_a_folder_outside_the_run_directory_is_refused(value: str) -> None:
    with pytest.raises(ConfigError, match=r"extras\.tensorboard_dir="):
        arguments(tensorboard_dir=value)


def test_reserved_keys_become_run_options_or_nothing() -> None:
    flags = arguments(
        save_model=False,
        capture_video=True,
        keep_checkpoints=5.0,
        checkpoint_interval=None,
        notes="hello",
        fastlane_video_mode="grid",
        optuna_db="study.db",
        schema_id="cleanrl.ppo",
        eval_batch_size=3,
        mode="train",
    )
    assert flags == [TENSORBOARD, "--no-save-model", "--capture-video", "--keep-checkpoints=5"]


def test_run_options_without_a_reserved_key_are_forwarded() -> None:
    assert "--no-torch-deterministic" in arguments(torch_deterministic=False)
    assert "--torch-threads=2" in arguments(algo_params={"torch_threads": 2})


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("env_id", "the worker config's own 'env_id'"),
        ("total_timesteps", "the worker config's own 'total_timesteps'"),
        ("seed", "the worker config's own 'seed'"),
        ("dry_run", "the worker's flag --dry-run"),
        ("checkpoint_path", "extras.checkpoint_path"),
        ("cuda", "extras.cuda"),
        ("track", "extras.track_wandb"),
        ("tensorboard_dir", "extras.tensorboard_dir"),
        ("mode", "extras.mode"),
    ],
)
def test_hyperparameters_cannot_smuggle_what_the_worker_owns(name: str, place: str) -> None:
    with pytest.raises(ConfigError) as caught:
        arguments(algo_params={name: 1})
    assert caught.value.message.endswith(f"it belongs in {place}.")


def test_extras_cannot_smuggle_them_either() -> None:
    for name in ("env_id", "seed", "dry_run", "track"):
        with pytest.raises(ConfigError, match="it belongs in"):
            arguments(**{name: 1})


@pytest.mark.parametrize(
    ("extras", "nearest"),
    [
        ({"algo_params": {"num_env": 4}}, "num_envs"),
        ({"num_env": 4}, "num_envs"),
        ({"save_modle": True}, "save_model"),
        ({"algo_params": {"torch_thread": 4}}, "torch_threads"),
    ],
)
def test_an_unknown_key_is_named_with_the_nearest_known(
    extras: dict[str, Any], nearest: str
) -> None:
    with pytest.raises(ConfigError, match=f"is unknown: .* Did you mean '{nearest}'"):
        arguments(**extras)


def test_two_values_for_one_parameter_are_refused() -> None:
    assert arguments(num_envs=4, algo_params={"num_envs": 4}) == [TENSORBOARD, "--num-envs=4"]
    with pytest.raises(ConfigError, match="contradicts"):
        arguments(num_envs=4, algo_params={"num_envs": 8})


def test_a_name_of_files_cannot_leave_the_run_directory() -> None:
    assert "--exp-name=mine" in arguments(exp_name="mine")
    for value in ("../../x", "a/b", "..", 3):
        with pytest.raises(ConfigError, match="exp_name="):
            arguments(exp_name=value)


@pytest.mark.parametrize("extras", [{"train_teacher_steps": 5}, {"teacher_policy_path": "."}])
def test_a_teacher_of_an_algorithm_without_one_is_refused(extras: dict[str, Any]) -> None:
    (name,) = extras
    assert refusal(**extras).startswith(f"extras.{name}=")
    assert "learns from no teacher" in refusal(**extras)


def test_a_teacher_that_is_not_there_is_refused() -> None:
    assert refusal(teacher_policy_path="nowhere") == (
        f"extras.teacher_policy_path='nowhere' does not exist: '{Path('nowhere').absolute()}'."
    )


def test_a_teacher_reaches_the_algorithm_by_its_absolute_path(tmp_path: Path) -> None:
    (tmp_path / "policy").touch()
    asked = config(teacher_policy_path=os.path.relpath(tmp_path / "policy"))
    game = {"algo": "qdagger_dqn_atari_impalacnn", "env_id": "BreakoutNoFrameskip-v4"}
    plan = plan_launch(replace(asked, **game))
    assert f"--teacher-policy-path={tmp_path / 'policy'}" in plan.arguments


def test_leaving_it_off_is_fine() -> None:
    off = dict.fromkeys(("teacher_policy_path", "train_teacher_steps"))
    plan_launch(config(**{**off, "track_wandb": False, "upload_model": False}))


def test_a_run_that_no_daemon_watches_is_told_that_nobody_resumes_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("MOSAIC_RUN_TOKEN", raising=False)
    assert "only the trainer daemon" in plan_launch(config(auto_resume=True)).warnings[0]
    monkeypatch.setenv("MOSAIC_RUN_TOKEN", "0" * 64)
    assert plan_launch(config(auto_resume=True)).warnings == ()


def test_an_absent_seed_is_drawn_and_recorded() -> None:
    def drawn() -> int | None:
        plan = plan_launch(
            CleanRLWorkerConfig("r", "ppo", "CartPole-v1", total_timesteps=1000, seed=None)
        )
        assert f"--seed={plan.config.seed}" in plan.arguments
        return plan.config.seed

    assert drawn() != drawn()


def test_live_frames_are_warned_about_only_where_they_were_asked_for() -> None:
    assert warnings_of(config()) == []
    assert warnings_of(config(fastlane_video_mode="off", fastlane_slot=1)) == []
    assert "fastlane_video_mode=grid" in warnings_of(config(video_mode="grid"))[0]
