"""What may be submitted, what is refused in which words, and where secrets do not go."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cleanrl_worker import get_worker_metadata
from cleanrl_worker.config import load_config
from mosaic.contracts.errors import ConfigError, MosaicError, NotAllowed
from mosaic.contracts.paths import VarPaths
from mosaic.contracts.settings import OperatorSettings
from mosaic.trainer.scheduler import Reservation
from mosaic.trainer.submission import Submission, prepare, write_launch_files
from mosaic.workers.discovery import DiscoveredWorker

WORKERS = (
    DiscoveredWorker("broken", None, "ImportError: no module"),
    DiscoveredWorker("cleanrl", get_worker_metadata()),
)
CANARY = "c4n4ry-5ecret"


def run_config(**changes: Any) -> dict[str, Any]:
    """Return a submission; `worker`, `config` and `extras` reach into it."""
    config = {
        "algo": "ppo",
        "env_id": "CartPole-v1",
        "total_timesteps": 1000,
        "extras": changes.pop("extras", {}),
        **changes.pop("config", {}),
    }
    worker = {"module": "cleanrl_worker.cli", "config": config, **changes.pop("worker", {})}
    return {"metadata": {"worker": worker}, **changes}


def submit(secrets: dict[str, str] | None = None, **changes: Any) -> Submission:
    text = json.dumps(run_config(**changes))
    return prepare(text, secrets or {}, WORKERS, OperatorSettings())


def test_what_was_left_open_is_filled() -> None:
    made = submit()
    assert made.mode == "train"
    assert made.worker.worker_type == "cleanrl"
    assert (made.request.run_id, made.request.cpus, made.request.gpus) == (made.run_id, 1, 0)
    assert made.request.memory_mb == get_worker_metadata().estimated_memory_mb
    assert made.worker_config["run_id"] == made.run_id
    assert made.worker_config["worker_id"] == f"cleanrl-worker-{made.run_id[:8]}"
    assert made.run_config.run_name.startswith("ppo-CartPole-v1-")


def test_the_same_config_twice_is_two_runs() -> None:
    first, second = (submit(config={"run_id": "mine"}) for _ in range(2))
    assert len({first.run_id, second.run_id, "mine"}) == 3


def test_what_was_asked_for_is_requested() -> None:
    resources = {"cpus": 2, "memory_mb": 77, "gpus": {"requested": 1, "mandatory": True}}
    request = submit(resources=resources).request
    assert (request.cpus, request.memory_mb) == (2, 77)
    assert (request.gpus, request.is_gpu_mandatory) == (1, True)


def test_cuda_asks_for_a_gpu_unless_the_resources_say_otherwise() -> None:
    request = submit(extras={"use_cuda": True}).request
    assert (request.gpus, request.is_gpu_mandatory) == (1, False)
    none = {"gpus": {"requested": 0}}
    assert submit(extras={"cuda": True}, resources=none).request.gpus == 0


def test_settings_of_the_run_config_reach_the_worker() -> None:
    made = submit(artifacts={"keep_checkpoints": 7}, worker={"use_grpc": True})
    assert made.worker_config["extras"]["keep_checkpoints"] == 7
    assert made.run_config.metadata.worker.arguments == ("--grpc",)


REFUSALS: list[tuple[str, dict[str, Any], type[MosaicError], str]] = [
    ("a wrong type", {"resources": {"cpus": "two"}}, ConfigError, "resources.cpus='two'"),
    ("an unknown key", {"resorces": {}}, ConfigError, "Did you mean 'resources'?"),
    (
        "a module that is no worker's",
        {"worker": {"module": "os"}},
        NotAllowed,
        "'os' is not the module of a discovered worker: give one of cleanrl_worker.cli",
    ),
    ("another program", {"entry_point": "/bin/sh"}, NotAllowed, "entry_point='/bin/sh'"),
    (
        "an environment variable",
        {"environment": {"LD_PRELOAD": "x.so"}},
        ConfigError,
        "a run may set only",
    ),
    ("an environment module", {"config": {"env_id": "os:E"}}, NotAllowed, "env_modules"),
    ("no environment", {"config": {"env_id": ""}}, ConfigError, "env_id=''"),
    ("no budget", {"config": {"total_timesteps": 0}}, ConfigError, "total_timesteps=0"),
    (
        "an unknown key of the worker config",
        {"config": {"enviroment": 1}},
        ConfigError,
        "no key 'enviroment'",
    ),
    ("an unknown algorithm", {"config": {"algo": "pppo"}}, ConfigError, "Did you mean 'ppo'?"),
    (
        "an unknown hyperparameter",
        {"extras": {"algo_params": {"learning_rat": 0.1}}},
        ConfigError,
        "Did you mean 'learning_rate'?",
    ),
    ("a forwarded one", {"extras": {"num_env": 4}}, ConfigError, "Did you mean 'num_envs'?"),
    (
        "a hyperparameter of a wrong type",
        {"extras": {"algo_params": {"num_envs": "four"}}},
        ConfigError,
        "num_envs='four' is not allowed: give a whole number",
    ),
    ("a reserved key", {"extras": {"mode": "trian"}}, ConfigError, "extras.mode='trian'"),
    ("stepping by hand", {"extras": {"mode": "interactive"}}, ConfigError, "cannot be submitted"),
]


@pytest.mark.parametrize(
    ("changes", "kind", "words"), [row[1:] for row in REFUSALS], ids=[row[0] for row in REFUSALS]
)
def test_a_refusal_is_one_line(
    changes: dict[str, Any], kind: type[MosaicError], words: str
) -> None:
    with pytest.raises(kind) as caught:
        submit(**changes)
    assert words in caught.value.one_line()
    assert "\n" not in caught.value.one_line()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "The run config is not JSON: Expecting property name"),
        ("[" * 100_000, "not JSON"),
        ("[]", "run config=[] is not allowed: give a JSON object"),
        ("{}", "metadata is missing"),
        ('{"metadata": {"worker": 3}}', "metadata.worker=3 is not allowed: give a JSON object"),
    ],
)
def test_a_text_that_is_no_run_config(text: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        prepare(text, {}, WORKERS, OperatorSettings())
    assert words in caught.value.one_line()


@pytest.mark.parametrize(
    "name", ["LD_PRELOAD", "PYTHONPATH", "MOSAIC_RUN_TOKEN", "A=B_KEY", "", "MOSAIC_API_KEY"]
)
def test_only_a_secret_travels_as_one(name: str) -> None:
    with pytest.raises(ConfigError, match="is not allowed: give the name of a secret") as caught:
        submit({name: CANARY})
    assert CANARY not in caught.value.one_line()


def test_a_secret_in_extras_cannot_take_the_place_of_the_runs_token() -> None:
    with pytest.raises(ConfigError, match=r"secrets\.MOSAIC_RUN_TOKEN is not allowed"):
        submit(extras={"mosaic_run_token": CANARY})


def test_secrets_are_in_memory_alone(tmp_path: Path) -> None:
    made = submit({"HF_TOKEN": CANARY}, extras={"wandb_api_key": CANARY})
    assert made.secrets == {"HF_TOKEN": CANARY, "WANDB_API_KEY": CANARY}
    stored = made.run_config.to_json()
    assert stored["metadata"]["worker"]["config"]["extras"]["wandb_api_key"] == "***"
    write_launch_files(VarPaths(tmp_path), made.run_id, stored, Reservation(1, 100))
    written = [path.read_text() for path in tmp_path.rglob("*.json")]
    assert len(written) == 2
    assert not [text for text in (*written, repr(made)) if CANARY in text]


def test_the_worker_is_told_what_was_really_reserved(tmp_path: Path) -> None:
    made = submit(resources={"gpus": {"requested": 2}}, config={"seed": 5})
    stored = made.run_config.to_json()
    paths = VarPaths(tmp_path)
    path = write_launch_files(paths, made.run_id, stored, Reservation(1, 640, (3,)))
    config = load_config(path, settings=OperatorSettings())
    assert (config.run_id, config.algo, config.seed) == (made.run_id, "ppo", 5)
    assert config.reservation is not None
    assert (config.reservation.memory_mb, config.reservation.gpus) == (640, 1)
    submitted = json.loads(paths.run_config(made.run_id).read_text())
    assert submitted["resources"]["gpus"]["requested"] == 2


def test_a_run_needs_the_secrets_that_it_uses_and_no_others() -> None:
    sent = {"HF_TOKEN": CANARY, "WANDB_API_KEY": CANARY, "OPENAI_API_KEY": CANARY}
    assert submit(sent).secret_names == ("OPENAI_API_KEY",)
    assert submit(sent, extras={"upload_model": True}).secret_names == (
        "HF_TOKEN",
        "OPENAI_API_KEY",
    )


def test_a_repeated_run_knows_which_secret_is_gone() -> None:
    first = submit(extras={"wandb_api_key": CANARY})
    assert first.secret_names == ("WANDB_API_KEY",)
    again = prepare(json.dumps(first.run_config.to_json()), {}, WORKERS, OperatorSettings())
    assert again.secrets == {}
    assert again.secret_names == ("WANDB_API_KEY",)


def test_the_password_of_a_proxy_is_a_secret() -> None:
    address = f"http://user:{CANARY}@proxy:3128"
    extras = {"track_wandb": True, "wandb_https_proxy": address}
    made = submit(extras=extras)
    assert made.secrets == {"WANDB_HTTPS_PROXY": address}
    assert made.secret_names == ("WANDB_HTTPS_PROXY",)
    assert made.worker_config["extras"]["wandb_https_proxy"] == "http://***@proxy:3128"
    assert CANARY not in json.dumps(made.run_config.to_json())
    again = submit(extras=made.worker_config["extras"])
    assert (again.secrets, again.secret_names) == ({}, ("WANDB_HTTPS_PROXY",))
    with pytest.raises(ConfigError, match="HTTPS_PROXY holds a password") as refused:
        submit(environment={"HTTPS_PROXY": address})
    assert CANARY not in refused.value.one_line()
