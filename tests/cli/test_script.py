"""`mosaic script`: phases as progress, the variables, and a phase that fails."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mosaic.cli.main import main

GOOD = """#!/usr/bin/env bash
# @description: Says what it was given.
# @phases: first, second
# @total_timesteps: 64
set -euo pipefail
echo "@phase first"
echo "seed $(mosaic config get seed) of $(mosaic config get total_timesteps)"
echo "@phase second"
test -d "$MOSAIC_CHECKPOINT_DIR"
echo "$MOSAIC_RUN_ID in $MOSAIC_RUN_DIR"
"""
BAD = """#!/usr/bin/env bash
# @phases: first, second
set -euo pipefail
echo "@phase first"
mosaic train ppo
echo "@phase second"
"""


@pytest.fixture
def scripts(var_dir: Path, tmp_path: Path) -> Path:
    """A directory whose scripts the operator allows."""
    directory = tmp_path / "scripts"
    directory.mkdir()
    (directory / "good.sh").write_text(GOOD)
    (directory / "bad.sh").write_text(BAD)
    (var_dir / "mosaic.toml").write_text(f"[allow]\nscripts = [{str(directory)!r}]\n")
    return directory


def test_phases_are_told_and_kept(
    scripts: Path, var_dir: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["script", "good", "--seed", "7", "--run-id", "s1"]) == 0
    home = var_dir / "trainer" / "custom_scripts" / "s1"
    assert capfd.readouterr().out.splitlines() == [
        "phase 1 of 2: first",
        "  seed 7 of 64",
        "phase 2 of 2: second",
        f"  s1 in {home}",
        f"good completed; its files: {home}",
    ]
    status = json.loads((home / "script.json").read_text())
    assert [(each["name"], each["status"]) for each in status["phases"]] == [
        ("first", "completed"),
        ("second", "completed"),
    ]
    assert (status["status"], status["return_code"], status["error"]) == ("completed", 0, None)


def test_a_phase_that_fails_stops_the_script_with_its_cause(
    scripts: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["script", str(scripts / "bad.sh"), "--json"]) == 2
    said = capfd.readouterr()
    (line,) = said.err.splitlines()
    assert line.startswith("mosaic: bad stopped in 'first': --env-id is missing")
    status = json.loads(said.out)
    assert status["status"] == "failed"
    assert [each["name"] for each in status["phases"]] == ["first"]
    assert "--env-id is missing" in status["error"]


def test_others_are_refused(
    var_dir: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "own.sh").write_text("touch ran\n")
    assert main(["script", str(tmp_path / "own.sh")]) == 2
    assert "is not under a directory that the operator allowed" in capfd.readouterr().err
    assert not (tmp_path / "ran").exists()
    assert main(["script", "--json"]) == 0
    names = [each["name"] for each in json.loads(capfd.readouterr().out)]
    assert names == ["babyai_goto", "doorkey", "quick_test"]
