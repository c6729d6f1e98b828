"""`cleanrl-worker` and bad input: the right exit code, one clear line, and nothing left behind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cleanrl_worker.conftest import CONFIG, SOURCE, RunWorker

CANARY = "canary-0123456789"


def config(**changes: Any) -> dict[str, Any]:
    return {**CONFIG, **changes}


def with_params(**parameters: Any) -> dict[str, Any]:
    return config(extras={"algo_params": parameters})


def with_extras(**extras: Any) -> dict[str, Any]:
    return config(extras=extras)


def without(key: str) -> dict[str, Any]:
    return {name: value for name, value in CONFIG.items() if name != key}


def check_refused(
    done: Any, directory: Path, *, code: int = 2, says: str, run_id: str | None = CONFIG["run_id"]
) -> None:
    """Hold a refusal to the contract."""
    assert done.returncode == code, done.stderr
    (line,) = done.stderr.splitlines()
    assert line.startswith("cleanrl-worker: ")
    assert says in line
    (event,) = [json.loads(text) for text in done.stdout.splitlines() if "run_failed" in text]
    assert event["event"] == "run_failed"
    assert event["run_id"] == run_id
    assert event["payload"]["return_code"] == code
    assert event["payload"]["error"] == line.removeprefix("cleanrl-worker: ")
    assert event["payload"]["stderr_tail"] == []
    assert not (directory / "var").exists()


BAD_CONFIGS = [
    ("unknown algorithm", config(algo="pppo"), "algo='pppo' is unknown. Did you mean 'ppo'?"),
    ("unknown key", config(total_timestep=5), "no key 'total_timestep'. Did you mean"),
    ("unknown extra", with_extras(save_modle=True), "Did you mean 'save_model'?"),
    ("typo in a hyperparameter", with_params(num_env=4), "Did you mean 'num_envs'?"),
    ("null for a number", with_params(num_envs=None), "extras.algo_params.num_envs=null"),
    ("module in the env id", config(env_id="evil:Env-v0"), "would import the module 'evil'"),
    ("empty env id", config(env_id=""), "env_id=''"),
    ("folder outside", with_extras(tensorboard_dir="../../x"), "extras.tensorboard_dir="),
    ("a script", config(algo="cleanrl:ppo"), "extras.cleanrl_home is missing"),
    ("missing level", {"metadata": {"worker": {}}, **CONFIG}, "metadata.worker.config is missing"),
]


@pytest.mark.parametrize(
    ("document", "says"), [row[1:] for row in BAD_CONFIGS], ids=[row[0] for row in BAD_CONFIGS]
)
def test_a_bad_config(run_worker: RunWorker, tmp_path: Path, document: Any, says: str) -> None:
    run_id = None if "metadata" in document else CONFIG["run_id"]
    check_refused(run_worker(config=document), tmp_path, says=says, run_id=run_id)


@pytest.mark.parametrize("run_id", ["../up", None])
def test_a_run_id_that_is_no_name(run_worker: RunWorker, tmp_path: Path, run_id: Any) -> None:
    done = run_worker(config=config(run_id=run_id))
    check_refused(done, tmp_path, says=f"run_id={run_id!r}", run_id=None)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cfg.json"]


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        ((), "--config is missing"),
        (("--config", "absent.json"), "--config 'absent.json' does not exist"),
        (("--confg", "cfg.json"), "Unrecognized arguments: --confg"),
        (("--seed", "one"), "Argument --seed: 'one' is not a whole number"),
        (("--total-timesteps", "1.5"), "Argument --total-timesteps: '1.5' is not a whole number"),
        (("--extras", "{"), "Argument --extras: not JSON"),
        (("--extras", "[]"), "Argument --extras: give a JSON object"),
        (("--grpc-target", "50055"), "Argument --grpc-target: '50055' is not HOST:PORT"),
        (("--emit-summary", "--config", "x"), "--emit-summary needs --dry-run"),
    ],
)
def test_a_bad_flag(
    run_worker: RunWorker, tmp_path: Path, flags: tuple[str, ...], says: str
) -> None:
    check_refused(run_worker(*flags), tmp_path, says=says, run_id=None)


@pytest.mark.parametrize("text", ["", "[]", "\ufeff{}"])
def test_a_config_that_is_no_json_object(run_worker: RunWorker, tmp_path: Path, text: str) -> None:
    check_refused(run_worker(config=text), tmp_path, says="", run_id=None)


def test_bad_extras_are_not_shown_since_they_may_hold_a_secret(run_worker: RunWorker) -> None:
    done = run_worker("--extras", '{"wandb_api_key": "' + CANARY + '"')
    assert done.returncode == 2
    assert CANARY not in done.stdout + done.stderr


def test_a_data_directory_that_cannot_be_made(run_worker: RunWorker, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = run_worker(config=CONFIG, MOSAIC_VAR_DIR=str(tmp_path / "file" / "var"))
    check_refused(done, tmp_path, says="cannot be")
    assert (tmp_path / "file").read_text() == ""


def test_settings_that_cannot_be_read(run_worker: RunWorker, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "mosaic.toml").write_text("[allow\n")
    done = run_worker(config=CONFIG, MOSAIC_VAR_DIR="data")
    check_refused(done, tmp_path, says="mosaic.toml is not TOML")


def test_a_dry_run_emits_no_event_whatever_is_wrong(run_worker: RunWorker) -> None:
    for done in (
        run_worker("--dry-run", config=config(algo="pppo")),
        run_worker("--dry-run", "--confg"),
        run_worker("--dry-run"),
    ):
        assert done.returncode == 2
        assert done.stdout == ""
        assert len(done.stderr.splitlines()) == 1


def test_dotenv_is_read_at_the_start(run_worker: RunWorker, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / ".env").write_text("MOSAIC_VAR_DIR=file/var\n")
    done = run_worker(config=CONFIG)
    check_refused(done, tmp_path, says="file/var")
    done = run_worker(config=CONFIG, MOSAIC_VAR_DIR="/dev/null/var")
    assert "/dev/null/var" in done.stderr, "what is set already stands"


def test_help_names_every_flag(run_worker: RunWorker) -> None:
    done = run_worker("--help")
    assert done.returncode == 0
    names = "algo env-id total-timesteps seed worker-id run-id policy-path extras grpc grpc-target"
    names += " config dry-run emit-summary interactive describe verbose"
    assert not [name for name in names.split(" ") if f"--{name}" not in done.stdout]


def test_a_bug_of_the_worker_is_logged_with_its_traceback(
    run_worker: RunWorker, tmp_path: Path
) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import mosaic.contracts.schema as schema\nschema.load_schema = None\n"
    )
    done = run_worker(config=CONFIG, PYTHONPATH=f"{SOURCE}:{tmp_path}")
    assert done.returncode == 1
    assert "Traceback" in done.stderr
    event = json.loads(done.stdout)
    assert event["event"] == "run_failed"
    assert event["payload"]["error_type"] == "TypeError"
