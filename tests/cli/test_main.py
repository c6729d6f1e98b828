"""The border of the `mosaic` command: what a user types, what comes back."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import mosaic
from mosaic.cli.main import COMMANDS, main


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"mosaic {mosaic.__version__}\n"


@pytest.mark.parametrize("words", [[], ["--help"], ["-h"], ["help"]])
def test_the_help_lists_every_command(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 0
    text = capsys.readouterr().out
    assert all(f"\n  {name} " in text for name in COMMANDS)


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        code = main([name, "--help"])
    except SystemExit as leaving:  # argparse's own help
        code = int(leaving.code or 0)
    assert code == 0
    assert f"usage: mosaic {name}" in capsys.readouterr().out


def test_every_command_of_the_contract_is_here() -> None:
    contract = """train ps watch show logs cancel pause unpause resume eval play frames view sweep
    export import archive rm restore workers algos envs bundle config doctor daemon gui"""
    assert set(contract.split()) <= set(COMMANDS)


def test_a_typo_is_answered_with_the_nearest_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trian"]) == 2
    assert "'trian' is no command. Did you mean 'train'?" in capsys.readouterr().err


def test_an_unknown_flag_is_answered_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["algos", "--jsno"]) == 2
    assert "algos has no flag --jsno. Did you mean '--json'?" in capsys.readouterr().err


def test_an_internal_error_is_one_line_and_its_traceback_is_kept(
    var_dir: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(words: list[str]) -> int:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr("mosaic.cli.workers.run", fail)
    assert main(["workers"]) == 1
    shown = capsys.readouterr().err
    assert shown.startswith("mosaic: internal error: ZeroDivisionError: a bug (traceback in ")
    assert "Traceback" not in shown
    log = (var_dir / "logs" / "mosaic.log").read_text()
    assert "Traceback" in log
    assert "a bug" in log


def test_a_reader_that_leaves_is_no_error() -> None:
    command = [sys.executable, "-m", "mosaic.cli", "algos", "ppo", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


def test_a_terminal_without_unicode_is_no_error() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mosaic.cli", "algos", "ppo"],
        capture_output=True,
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
        check=False,
        timeout=30,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"? 0" in done.stdout


def test_the_border_is_light() -> None:
    code = (
        "import sys; from mosaic.cli.main import main; main(['--version']);"
        "heavy = {'torch', 'rich', 'pydantic', 'cleanrl_worker'} & set(sys.modules);"
        "sys.exit(', '.join(heavy) or 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=30, capture_output=True)


def test_dotenv_is_read_at_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "cfg.json").write_text('{"algo": "ppo"}')
    (tmp_path / ".env").write_text(f"MOSAIC_CONFIG_FILE={tmp_path / 'cfg.json'}\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MOSAIC_CONFIG_FILE", "")
    monkeypatch.delenv("MOSAIC_CONFIG_FILE")
    assert main(["config", "get", "algo"]) == 0
    assert capsys.readouterr().out == "ppo\n"
