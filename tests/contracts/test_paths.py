"""Where files lie: every path of the contract's file table that this version writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from mosaic.contracts.errors import ConfigError
from mosaic.contracts.identifiers import check_run_id, file_name, new_run_id
from mosaic.contracts.paths import VarPaths, default_var_dir, run_name

VAR = VarPaths(Path("/data"))
RUN = VAR.run("R1")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (VAR.settings, "mosaic.toml"),
        (VAR.logs, "logs"),
        (VAR.run_config("R1"), "trainer/configs/config-R1.json"),
        (VAR.worker_config("R1", 7), "trainer/configs/worker-R1-7.json"),
        (RUN.root, "trainer/runs/R1"),
        (VAR.run("R1", "resume_training").root, "trainer/runs/R1"),
        (VAR.run("R1", "policy_eval").root, "trainer/evals/R1"),
        (VAR.run("R1", "script").root, "trainer/custom_scripts/R1"),
        (RUN.manifest, "trainer/runs/R1/analytics.json"),
        (RUN.stdout_log, "trainer/runs/R1/logs/cleanrl.stdout.log"),
        (RUN.stderr_log, "trainer/runs/R1/logs/cleanrl.stderr.log"),
        (RUN.metrics, "trainer/runs/R1/metrics.jsonl"),
        (RUN.events, "trainer/runs/R1/events.jsonl"),
        (RUN.checkpoints, "trainer/runs/R1/checkpoints"),
        (RUN.replay, "trainer/runs/R1/checkpoints/replay"),
        (RUN.videos, "trainer/runs/R1/videos"),
        (RUN.wandb, "trainer/runs/R1/wandb"),
        (RUN.models, "trainer/runs/R1/runs"),
    ],
)
def test_a_file_lies_where_the_contract_says(path: Path, expected: str) -> None:
    assert path == Path("/data") / expected


def test_the_data_directory_is_var_unless_moved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MOSAIC_VAR_DIR", raising=False)
    assert default_var_dir() == tmp_path / "var"
    monkeypatch.setenv("MOSAIC_VAR_DIR", "elsewhere")
    assert default_var_dir() == tmp_path / "elsewhere"


def test_a_relative_path_is_relative_to_the_run() -> None:
    assert RUN.relative(RUN.stderr_log) == "logs/cleanrl.stderr.log"


HOSTILE_IDS = [
    "", ".", "..", "../x", "a/b", "/etc/passwd", "a\\b", "a\0b", "a b", "a.b", "~", "é", "a\n",
    "x" * 65, None, 5, ["a"], "%2e%2e", "${HOME}", "con:", "-\u202e-",
]  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE_IDS)
def test_no_hostile_run_id_becomes_a_path(name: object) -> None:
    for use in (VAR.run, VAR.run_config, lambda value: VAR.worker_config(value, 0)):
        with pytest.raises(ConfigError, match="run_id"):
            use(name)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["a", "A_b-9", "x" * 64, "01J00000000000000000000001"])
def test_a_good_run_id_passes(name: str) -> None:
    assert check_run_id(name) == name


def test_new_run_ids_are_different_and_valid() -> None:
    fresh = {new_run_id() for _ in range(100)}
    assert len(fresh) == 100
    assert all(check_run_id(name) == name for name in fresh)


@pytest.mark.parametrize(
    ("env_id", "name"),
    [("CartPole-v1", "CartPole-v1"), ("ALE/Pong-v5", "ALE-Pong-v5"), ("../../x", "-..-x"),
     ("a:b", "a-b"), ("..", "env"), ("", "env")],
)  # fmt: skip
def test_an_environment_id_is_one_path_component(env_id: str, name: str) -> None:
    assert file_name(env_id) == name
    assert Path(name).name == name


def test_a_run_is_named_as_cleanrl_names_it() -> None:
    assert run_name("ALE/Pong-v5", "ppo", 1, 1700000000) == "ALE-Pong-v5__ppo__1__1700000000"
