"""Scripts: what their first lines say, and which may run."""

from __future__ import annotations

from pathlib import Path

import pytest

from mosaic.contracts.errors import ConfigError, NotAllowed, NotFound
from mosaic.contracts.scripts import (
    OUR_SCRIPTS,
    check_script,
    find_script,
    find_scripts,
    read_script,
)
from mosaic.contracts.settings import OperatorSettings

HEADER = """#!/usr/bin/env bash
# @description: Two runs.
# @phases: train, evaluate it
#@total_timesteps: 1_000
# @env_family: gymnasium
# @author: somebody
"""


def script(tmp_path: Path, text: str = HEADER, name: str = "two.sh") -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


def test_the_header_is_read(tmp_path: Path) -> None:
    found = read_script(script(tmp_path))
    assert (found.name, found.description, found.phases) == (
        "two",
        "Two runs.",
        ("train", "evaluate it"),
    )
    assert (found.total_timesteps, found.env_family, found.author) == (
        1000,
        "gymnasium",
        "somebody",
    )


def test_what_comes_after_thirty_lines_is_no_header(tmp_path: Path) -> None:
    found = read_script(script(tmp_path, "#\n" * 30 + "# @description: late\n"))
    assert (found.description, found.phases) == ("", ())


def test_a_number_that_is_none_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"two.sh: @total_timesteps='many' is not allowed"):
        read_script(script(tmp_path, "# @total_timesteps: many\n"))


def test_only_ours_and_the_operators_may_run(tmp_path: Path) -> None:
    path = script(tmp_path)
    with pytest.raises(NotAllowed) as refused:
        check_script(path, OperatorSettings())
    assert "Add its directory to scripts under [allow]" in refused.value.one_line()
    allowed = OperatorSettings(scripts=(tmp_path,))
    assert check_script(path, allowed) == path.resolve()
    link = tmp_path / "link.sh"
    link.symlink_to("/etc/hostname")
    with pytest.raises(NotAllowed):
        check_script(link, allowed)
    with pytest.raises(NotFound, match="does not exist"):
        check_script(tmp_path / "gone.sh", allowed)
    assert find_script("two", allowed).path == path
    with pytest.raises(NotFound) as missing:
        find_script("other", OperatorSettings())
    assert "There are: babyai_goto, doorkey, quick_test" in missing.value.one_line()


def test_ours_say_what_they_do() -> None:
    found = find_scripts(OperatorSettings())
    assert [each.name for each in found] == ["babyai_goto", "doorkey", "quick_test"]
    for each in found:
        assert each.description
        assert each.phases
        assert each.total_timesteps
        assert each.author == "MOSAIC"
        text = (OUR_SCRIPTS / f"{each.name}.sh").read_text()
        marks = [line.split('"')[1] for line in text.splitlines() if line.startswith("echo")]
        assert marks == [f"@phase {phase}" for phase in each.phases]
