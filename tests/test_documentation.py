"""The documentation is true: derived pages are current, and what is cheap to run runs."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from mosaic.cli.main import COMMANDS
from mosaic.contracts.run_config import parse_run_config
from mosaic.contracts.train_flags import DAEMON, OWN
from tests.scripts import load_script

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [
    ROOT / "README.md",
    *sorted(path for path in DOCS.rglob("*.md") if "_build" not in path.parts),
]


def test_derived_pages_are_what_the_script_would_write() -> None:
    made = load_script("make_reference").pages()
    stale = [name for name, text in made.items() if not _holds(DOCS / name, text)]
    assert not stale, f"run .venv/bin/python scripts/make_reference.py: {stale}"
    pages = {f"algorithms/{path.name}" for path in (DOCS / "algorithms").glob("*.md")}
    assert pages == {name for name in made if name.startswith("algorithms/")}


def _holds(path: Path, text: str) -> bool:
    return path.is_file() and path.read_text(encoding="utf-8") == text


def test_the_pages_of_the_environments_are_what_the_script_would_write() -> None:
    made = load_script("make_environments").pages()
    stale = [name for name, text in made.items() if not _holds(DOCS / name, text)]
    assert not stale, f"run .venv/bin/python scripts/make_environments.py: {stale}"
    assert {f"environments/{path.name}" for path in (DOCS / "environments").glob("*.md")} == set(
        made
    )


def test_the_published_schema_names_no_machine() -> None:
    text = (DOCS / "reference/run-config.schema.json").read_text()
    assert sys.executable not in text
    assert json.loads(text)["title"] == "RunConfig"


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)


def cheap_commands() -> list[str]:
    """Return the commands of the README that list or explain, and start no training."""
    lines = [line for block in blocks(ROOT / "README.md", "bash") for line in block.splitlines()]
    commands = [line.split("#")[0].strip() for line in lines]
    cheap = re.compile(r"mosaic (--help|algos|workers|train \S+ --help)")
    return [command for command in commands if cheap.match(command)]


def test_the_readme_shows_the_two_commands_and_the_first_steps() -> None:
    shown = "\n".join(blocks(ROOT / "README.md", "bash"))
    assert "make run" in shown
    assert "make test" in shown
    assert len(cheap_commands()) >= 4


@pytest.mark.parametrize("command", cheap_commands())
def test_a_command_of_the_readme_runs(command: str, tmp_path: Path) -> None:
    _, *words = shlex.split(command)
    done = subprocess.run(
        [sys.executable, "-m", "mosaic.cli", *words],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_every_command_and_flag_has_its_entry() -> None:
    text = (DOCS / "reference/commands.md").read_text()
    assert [name for name in COMMANDS if f"\n## mosaic {name}\n" not in text] == []
    assert [each.flag for each in (*OWN, *DAEMON) if f"`{each.flag}" not in text] == []


def test_the_run_config_of_the_docs_is_accepted() -> None:
    [example] = blocks(DOCS / "reference/run-config.md", "json")
    assert parse_run_config(json.loads(example)).resources.cpus == 1


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_to_a_file_leads_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []
