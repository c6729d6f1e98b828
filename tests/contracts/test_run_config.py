"""The run config: what may be left out, what is refused, and in which words."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from cleanrl_worker import get_worker_metadata
from mosaic.contracts.allowed import check_allowed
from mosaic.contracts.errors import ConfigError, NotAllowed
from mosaic.contracts.run_config import RunConfig, parse_run_config, run_config_for
from mosaic.contracts.settings import OperatorSettings

WORKER = get_worker_metadata()
CONFIG = {"run_id": "r1", "algo": "ppo", "env_id": "CartPole-v1", "total_timesteps": 1000}


def document(**changes: Any) -> dict[str, Any]:
    worker = {"module": WORKER.module, "config": dict(CONFIG)}
    return {"metadata": {"worker": worker}} | changes


def refusal(**changes: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        parse_run_config(document(**changes))
    return caught.value.one_line()


def test_everything_but_the_worker_is_filled() -> None:
    filled = parse_run_config(document())
    assert filled.resources.cpus == 1
    assert filled.resources.memory_mb > 0
    assert filled.resources.gpus.requested == 0
    assert filled.entry_point == sys.executable
    assert filled.run_name.startswith("ppo-CartPole-v1-")
    assert filled.artifacts.output_prefix == f"runs/{filled.run_name}"
    assert filled.schedule is None


def test_two_submissions_of_one_millisecond_have_two_names() -> None:
    names = {parse_run_config(document()).run_name for _ in range(200)}
    assert len(names) == 200


def test_a_whole_document_survives_a_round_trip() -> None:
    given = {
        "run_name": "my run",
        "arguments": ["-m", WORKER.module],
        "environment": {"OMP_NUM_THREADS": "2"},
        "resources": {"cpus": 2, "memory_mb": 2048, "gpus": {"requested": 1, "mandatory": True}},
        "artifacts": {"output_prefix": "runs/mine", "persist_logs": False, "keep_checkpoints": 5},
        "schedule": {"max_duration_seconds": 60.0, "max_steps": 10},
        "idempotency_key": "once",
        "metadata": {
            "ui": {"worker_id": "w", "agent_id": "a", "run_mode": "train", "theme": "dark"},
            "worker": {"module": WORKER.module, "config": CONFIG, "use_grpc": True},
            "artifacts": {
                "tensorboard": {"enabled": True, "relative_path": "tb"},
                "wandb": {"enabled": True, "run_path": "me/p/1", "mode": "offline"},
                "notes": "a note",
            },
        },
    }
    once = parse_run_config(given).to_json()
    assert parse_run_config(json.loads(json.dumps(once))).to_json() == once
    assert once["metadata"]["ui"]["theme"] == "dark"
    assert once["idempotency_key"] == "once"


def test_a_browser_may_send_a_whole_number_as_a_float() -> None:
    assert parse_run_config(document(resources={"cpus": 2.0})).resources.cpus == 2


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"resource": {}}, "resource is unknown. Did you mean 'resources'?"),
        (
            {"resources": {"gpus": {"requsted": 1}}},
            "resources.gpus.requsted is unknown. Did you mean 'requested'?",
        ),
        (
            {"resources": {"cpus": 0}},
            "resources.cpus=0 is not allowed: give a number of at least 1.",
        ),
        ({"resources": {"cpus": True}}, "resources.cpus=True is not allowed: give a whole number."),
        ({"resources": {"cpus": 1.5}}, "resources.cpus=1.5 is not allowed: give a whole number."),
        ({"schedule": {"max_steps": 0}}, "schedule.max_steps=0 is not allowed"),
        ({"schedule": {"max_step": 1}}, "schedule.max_step is unknown. Did you mean 'max_steps'?"),
        ({"environment": {"OMP_NUM_THREADS": 2}}, "environment.OMP_NUM_THREADS=2 is not allowed"),
        ({"run_name": "../evil"}, "run_name='../evil' is not allowed"),
        (
            {"artifacts": {"output_prefix": "../up"}},
            "artifacts.output_prefix='../up' is not allowed",
        ),
        ({"artifacts": {"output_prefix": "/etc"}}, "artifacts.output_prefix='/etc' is not allowed"),
        ({"arguments": "-c"}, "arguments='-c' is not allowed: give a list."),
        ({"metadata": {}}, "metadata.worker is missing."),
        ({"metadata": {"worker": {"module": "m"}}}, "metadata.worker.config is missing."),
        ({"metadata": {"worker": 5}}, "metadata.worker=5 is not allowed: give a JSON object."),
    ],
)
def test_a_wrong_value_is_named_with_what_is_allowed(changes: dict[str, Any], line: str) -> None:
    assert refusal(**changes).startswith(line)


def test_every_problem_is_told_at_once() -> None:
    line = refusal(resources={"cpus": 0}, metadata={})
    assert line == (
        "resources.cpus=0 is not allowed: give a number of at least 1; metadata.worker is missing."
    )


@pytest.mark.parametrize("name", ["LD_PRELOAD", "PYTHONPATH", "CUDA_VISIBLE_DEVICES", "PATH"])
def test_a_variable_off_the_list_is_refused_by_name(name: str) -> None:
    line = refusal(environment={name: "x"})
    assert line.startswith(f"environment.{name} is not allowed: a run may set only ")
    assert "OMP_NUM_THREADS" in line


def test_a_refusal_never_shows_a_secret() -> None:
    worker = {"module": 5, "config": {"extras": {"wandb_api_key": "s3cr3t"}}}
    assert "s3cr3t" not in refusal(metadata={"worker": worker})
    assert "s3cr3t" not in refusal(metadata={"worker": [{"wandb_api_key": "s3cr3t"}]})


def test_what_is_stored_holds_no_secret() -> None:
    config = CONFIG | {"extras": {"wandb_api_key": "s3cr3t", "algo_params": {"a_token": "t0ken"}}}
    stored = json.dumps(run_config_for(config, WORKER).to_json())
    assert "s3cr3t" not in stored
    assert "t0ken" not in stored
    assert '"wandb_api_key": "***"' in stored


def test_a_worker_config_becomes_a_submission() -> None:
    extras = {"tensorboard_dir": None, "notes": "hello", "keep_checkpoints": 7}
    built = run_config_for(CONFIG | {"extras": extras}, WORKER, environment={"MUJOCO_GL": "egl"})
    assert built.metadata.worker.module == WORKER.module
    assert built.metadata.worker.config["algo"] == "ppo"
    assert built.resources.memory_mb == WORKER.estimated_memory_mb
    assert built.metadata.artifacts.tensorboard.enabled is False
    assert built.metadata.artifacts.notes == "hello"
    assert built.artifacts.keep_checkpoints == 7
    assert built.environment == {"MUJOCO_GL": "egl"}


NOTHING = OperatorSettings()


def allow(settings: OperatorSettings = NOTHING, **changes: Any) -> None:
    check_allowed(parse_run_config(document(**changes)), [WORKER], settings)


def with_config(**config: Any) -> dict[str, Any]:
    return {"worker": {"module": WORKER.module, "config": CONFIG | config}}


def test_a_plain_submission_is_allowed() -> None:
    allow()
    allow(entry_point="python", arguments=["-m", WORKER.module])


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"entry_point": "/bin/sh"}, "entry_point='/bin/sh' is not allowed"),
        ({"arguments": ["-c", "import os"]}, "arguments=['-c', 'import os'] is not allowed"),
        (
            {"metadata": {"worker": {"module": "os", "config": {}}}},
            "is not the module of a discover",
        ),
        (
            {"metadata": {"worker": {"module": WORKER.module, "config": {}, "arguments": ["--x"]}}},
            "metadata.worker.arguments[0]='--x' is not allowed",
        ),
    ],
)
def test_no_program_of_the_submitters_choice_runs(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(NotAllowed) as caught:
        allow(**changes)
    assert words in caught.value.one_line()


def test_a_module_in_an_environment_id_needs_the_operators_word() -> None:
    metadata = with_config(env_id="my_envs:Maze-v0")
    with pytest.raises(NotAllowed, match="my_envs") as caught:
        allow(metadata=metadata)
    assert "env_modules under [allow] in var/mosaic.toml" in caught.value.one_line()
    allow(OperatorSettings(env_modules=("my_envs",)), metadata=metadata)


def test_so_does_one_in_a_stage_of_a_curriculum() -> None:
    stages = [{"env_id": "CartPole-v1"}, {"env_id": "my_envs:Maze-v0"}]
    with pytest.raises(NotAllowed, match="my_envs"):
        allow(metadata=with_config(extras={"curriculum_schedule": stages}))


def test_a_checkout_must_lie_under_an_allowed_directory(tmp_path: Path) -> None:
    inside, outside = tmp_path / "ok" / "cleanrl", tmp_path / "ok" / ".." / "evil"
    settings = OperatorSettings(checkouts=((tmp_path / "ok").resolve(),))
    allow(settings, metadata=with_config(extras={"cleanrl_home": str(inside)}))
    with pytest.raises(NotAllowed, match="cleanrl_home") as caught:
        allow(settings, metadata=with_config(extras={"cleanrl_home": str(outside)}))
    assert "checkouts under [allow]" in caught.value.one_line()


def test_the_schema_lists_the_allowed_variables() -> None:
    schema = RunConfig.model_json_schema()
    names = schema["properties"]["environment"]["propertyNames"]["enum"]
    assert "OMP_NUM_THREADS" in names
    assert schema["required"] == ["metadata"]
