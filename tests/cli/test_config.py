"""`mosaic config get`: values of a config for shell scripts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mosaic.cli.main import main

CONFIG = {
    "algo": "ppo",
    "seed": None,
    "extras": {"algo_params": {"gamma": 0.98, "anneal_lr": False}, "stages": [{"env_id": "A-v0"}]},
}


@pytest.fixture(autouse=True)
def config_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "cfg.json"
    path.write_text(json.dumps(CONFIG))
    monkeypatch.setenv("MOSAIC_CONFIG_FILE", str(path))
    return path


@pytest.mark.parametrize(
    ("words", "printed"),
    [
        (["algo"], "ppo"),
        (["algo", "--json"], '"ppo"'),
        (["seed"], "null"),
        (["extras.algo_params.gamma"], "0.98"),
        (["extras.algo_params.anneal_lr"], "false"),
        (["extras.stages.0.env_id"], "A-v0"),
        (["extras.algo_params"], '{"gamma": 0.98, "anneal_lr": false}'),
    ],
)
def test_a_value_is_printed(
    words: list[str], printed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["config", "get", *words]) == 0
    assert capsys.readouterr().out == printed + "\n"


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("extras.algo_parms.gamma", "no key 'extras.algo_parms'. Did you mean 'algo_params'?"),
        ("extras.stages.7", "no key 'extras.stages.7'."),
        ("algo.x", "no key 'algo.x'."),
    ],
)
def test_a_missing_key_is_named(key: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "get", key]) == 2
    assert words in capsys.readouterr().err


def test_the_file_may_be_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = tmp_path / "other.json"
    other.write_text('{"algo": "dqn"}')
    assert main(["config", "get", "algo", str(other)]) == 0
    assert capsys.readouterr().out == "dqn\n"


def test_without_a_file_the_variable_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("MOSAIC_CONFIG_FILE")
    assert main(["config", "get", "algo"]) == 2
    assert "set MOSAIC_CONFIG_FILE" in capsys.readouterr().err
