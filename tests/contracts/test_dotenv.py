"""`.env`: what its lines mean, and that a mistake shows no secret."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mosaic.contracts.dotenv import load_dotenv, read_dotenv
from mosaic.contracts.errors import ConfigError


def test_lines_as_people_write_them(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(
        "# a comment\n\nWANDB_API_KEY=abc\nexport HF_TOKEN='a # b'\nX = 1 # one\nE=\nQ=\"a b\"\n"
    )
    assert read_dotenv(tmp_path / ".env") == {
        "WANDB_API_KEY": "abc",
        "HF_TOKEN": "a # b",
        "X": "1",
        "E": "",
        "Q": "a b",
    }


def test_no_file_is_no_variables(tmp_path: Path) -> None:
    assert read_dotenv(tmp_path / ".env") == {}


def test_what_is_set_already_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".env").write_text("MOSAIC_TEST_A=file\n")
    monkeypatch.setenv("MOSAIC_TEST_A", "shell")
    load_dotenv(tmp_path / ".env")
    assert os.environ["MOSAIC_TEST_A"] == "shell"


def test_a_bad_line_is_named_by_its_number_alone(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("A=1\ns3cr3t\n")
    with pytest.raises(ConfigError) as caught:
        read_dotenv(tmp_path / ".env")
    assert caught.value.one_line().endswith(".env, line 2: give NAME=value.")
