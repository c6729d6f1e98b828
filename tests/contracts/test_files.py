"""Files that are whole or absent, and files of users that may be anything."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from mosaic.contracts.errors import ConfigError, StorageError
from mosaic.contracts.files import make_directory, read_json, write_bytes_whole, write_json_whole


def test_a_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_json_whole(path, {"n": 1})
    write_json_whole(path, {"n": 2, "text": "γ"})
    assert json.loads(path.read_text(encoding="utf-8")) == {"n": 2, "text": "γ"}
    assert os.listdir(tmp_path) == ["a.json"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_json_whole(path, {"n": 1})
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json_whole(path, {"n": float("nan")})
    with pytest.raises(TypeError):
        write_bytes_whole(path, "text")  # type: ignore[arg-type]
    assert json.loads(path.read_text()) == {"n": 1}
    assert os.listdir(tmp_path) == ["a.json"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (
            b"{",
            "is not JSON: Expecting property name enclosed in double quotes at line 1, column 2.",
        ),
        (b"", "is not JSON"),
        (b"\xff\xfe", "cannot be read"),
    ],
)
def test_a_bad_file_is_one_line(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "cfg.json"
    path.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        read_json(path, what="--config")
    assert words in caught.value.one_line()
    assert str(path) in caught.value.one_line()


def test_a_missing_file_and_a_directory_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="does not exist"):
        read_json(tmp_path / "none.json", what="--config")
    with pytest.raises(ConfigError, match="is a directory"):
        read_json(tmp_path, what="--config")


def test_a_directory_that_cannot_be_made_is_told_with_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StorageError) as caught:
        make_directory(tmp_path / "file" / "below", what="The data directory")
    assert "MOSAIC_VAR_DIR" in caught.value.one_line()
    assert caught.value.exit_code == 2


def test_a_deeply_nested_file_is_refused_like_any_other(tmp_path: Path) -> None:
    path = tmp_path / "deep.json"
    path.write_text("[" * 100_000 + "]" * 100_000)
    with pytest.raises(ConfigError, match="not JSON"):
        read_json(path, what="--config")
