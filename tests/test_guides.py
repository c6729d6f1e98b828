"""The guides are true: every command in them can be typed, and what is cheap is run."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from mosaic.cli.main import COMMANDS, MODULES
from mosaic.cli.train_flags import parse_train
from mosaic.contracts.checkouts import script_schema
from mosaic.workers.discovery import load_catalogue
from tests.test_documentation import DOCS, PAGES, ROOT, blocks

# Programs that are not ours: that they are meant is all that can be checked here.
OTHERS = frozenset(
    {"apt-get", "cd", "cp", "export", "git", "mkdir", "mv", "nvidia-smi", "source", "ssh"}
    | {"minari", "tar", "tensorboard", "unzip", "uv", "wandb"}
)
# Written for any name of the kind.
PLACEHOLDERS = {"ALGO": "ppo", "ENV": "CartPole-v1", "$CLEANRL_HOME": "."}
# Run as they stand, in an empty data directory; each takes a second at most.
CHEAP = re.compile(
    r"mosaic (--help|--version|algos( ppo)?|workers|bundle list|daemon status|ps( --all)?"
    r"( --state failed)?|doctor)$"
)
TINY = ROOT / "tests/cleanrl_worker/upstream/checkout"


def commands_of(page: Path) -> list[str]:
    """Return what a page tells to type: bash blocks, and consoles after the prompt."""
    typed = list(blocks(page, "bash"))
    for block in blocks(page, "console"):
        typed.append("\n".join(line[2:] for line in block.splitlines() if line.startswith("$ ")))
    return [command for text in typed for command in split_commands(text)]


def split_commands(text: str) -> list[str]:
    """Split a script into commands; one may go on over lines, behind a backslash or in quotes."""
    commands, begun = [], ""
    for line in text.replace("\\\n", " ").splitlines():
        begun += re.sub(r"(^|\s)# .*$", "", line) if not begun else "\n" + line
        try:
            shlex.split(begun)
        except ValueError:
            continue
        commands += [part.strip() for part in begun.split(" && ") if part.strip()]
        begun = ""
    return commands


def every_command() -> list[tuple[str, str]]:
    return [(str(page.relative_to(ROOT)), line) for page in PAGES for line in commands_of(page)]


def words_of(line: str) -> list[str]:
    """Return the words of the program itself, without variables before it and redirects after."""
    words = shlex.split(line)
    while words and re.fullmatch(r"[A-Za-z_]+=.*", words[0]):
        words.pop(0)
    if words and words[0] == "nohup":
        words.pop(0)
    ends = [number for number, word in enumerate(words) if word in (">", "&", "|", "&&", "2>&1")]
    words = words[: ends[0]] if ends else words
    return [PLACEHOLDERS.get(word, word) for word in words]


ALGORITHMS = {"ppo": load_catalogue().find("ppo").algorithm}


@pytest.fixture(scope="module")
def catalogue() -> object:
    return load_catalogue()


@pytest.fixture(scope="module")
def helps() -> dict[str, str]:
    """Return what each command says of itself, from one process."""
    code = (
        "import contextlib, importlib, io, json, sys\n"
        "found = {}\n"
        "for name, module in json.loads(sys.argv[1]).items():\n"
        "    out = io.StringIO()\n"
        "    with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):\n"
        "        importlib.import_module('mosaic.cli.' + module).run(['--help'])\n"
        "    found[name] = out.getvalue()\n"
        "print(json.dumps(found))\n"
    )
    modules = {name: MODULES.get(name, name) for name in COMMANDS}
    done = subprocess.run(
        [sys.executable, "-c", code, json.dumps(modules)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def test_there_are_guides_for_users_operators_and_authors() -> None:
    for name in ("quick-start", "concepts", "policies", "errors", "own-worker", "own-algorithm"):
        assert (DOCS / "guide" / f"{name}.md").is_file()
    assert len(list((DOCS / "operators").glob("*.md"))) >= 10
    assert len(every_command()) > 100


@pytest.mark.parametrize(("page", "line"), every_command())
def test_a_command_can_be_typed(
    page: str, line: str, helps: dict[str, str], catalogue: object
) -> None:
    words = words_of(line)
    program, *rest = words or ["export"]
    if program == "mosaic":
        check_mosaic(rest, helps, catalogue)
    elif program == "make":
        targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
        assert rest[0] in targets, line
    elif program == "pip":
        check_extras(rest)
    elif program == "python":
        module = rest[rest.index("-m") + 1] if "-m" in rest else rest[0]
        if "cleanrl/" in module:  # a script of somebody's CleanRL checkout
            return
        assert (
            module.split(".")[0]
            in ("cProfile", "pstats", "gym_gui", "cleanrl_worker", "coin_worker")
            or (ROOT / module).is_file()
        ), line
    elif program in ("cleanrl-worker", ".ci/run") or program.startswith(".venv/bin/"):
        pass
    else:
        assert program in OTHERS, f"{page}: {line}"


def check_mosaic(words: list[str], helps: dict[str, str], catalogue: object) -> None:
    name, *rest = words
    if name.startswith("--"):
        assert name in ("--help", "--version")
        return
    assert name in COMMANDS
    if name == "train" and "--help" not in rest:
        check_train(rest, catalogue)
        return
    flags = [word.partition("=")[0] for word in rest if re.match(r"-[-a-z]", word)]
    if name == "sweep" and rest[0] in ALGORITHMS:  # it takes every flag of a training
        flags = [flag for flag in flags if not ALGORITHMS[rest[0]].has(flag[2:].replace("-", "_"))]
    unknown = [flag for flag in flags if flag not in helps[name] and not is_option(flag, name)]
    assert not unknown, f"mosaic {name} has no {unknown}"


def is_option(flag: str, command: str) -> bool:
    """Say whether `mosaic eval` or `resume`, which take keys of extras, would take this one."""
    from mosaic.contracts.extras import RESERVED

    key = flag[2:].removeprefix("no-").replace("-", "_")
    return flag == "--help" or (command in ("eval", "resume") and key in RESERVED)


def check_train(words: list[str], catalogue: object) -> None:
    """Read the flags as the command does; a mistake that a page shows on purpose is refused."""
    if "--learning-rat" in words or "6" in words:
        return
    name = words[0]
    if name.startswith("cleanrl:"):
        algorithm = script_schema(TINY, "cleanrl:tiny")
        words = [word for word in words if word not in ("--buffer-size", "100000")]
    else:
        algorithm = catalogue.find(name).algorithm  # type: ignore[attr-defined]
    parse_train(algorithm, words[1:])


def check_extras(words: list[str]) -> None:
    known = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for word in words:
        if word.startswith("mosaic-rl["):
            assert Requirement(word).extras <= set(known), word
        elif word.startswith(".["):
            assert set(word[2:-1].split(",")) <= set(known), word


def cheap() -> list[str]:
    found = dict.fromkeys(line for _, line in every_command() if CHEAP.match(line))
    return list(found)


def test_what_is_cheap_runs(var_dir: Path) -> None:
    assert len(cheap()) >= 6
    for line in cheap():
        done = subprocess.run(
            [sys.executable, "-m", "mosaic.cli", *shlex.split(line)[1:]],
            capture_output=True,
            text=True,
            cwd=var_dir,
            timeout=60,
        )
        # No daemon runs here, and doctor may find something wrong with this machine.
        assert done.returncode in (0, 1, 4), f"{line}: {done.stderr}"
        assert "internal error" not in done.stderr
    subprocess.run([sys.executable, "-m", "mosaic.cli", "daemon", "stop"], cwd=var_dir)


def test_the_worker_of_the_guide_works_as_it_is_written(tmp_path: Path) -> None:
    page = DOCS / "guide/own-worker.md"
    describe, main = blocks(page, "python")
    [schema] = blocks(page, "json")
    package = tmp_path / "counter_worker"
    package.mkdir()
    (package / "__init__.py").write_text(describe)
    (package / "cli.py").write_text(main)
    (package / "schema.json").write_text(schema)
    info = tmp_path / "counter_worker-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: counter-worker\nVersion: 1.0\n")
    entry = tomllib.loads(blocks(page, "toml")[0])["project"]["entry-points"]["mosaic.workers"]
    (info / "entry_points.txt").write_text(
        "[mosaic.workers]\n" + "\n".join(f"{name} = {value}" for name, value in entry.items())
    )
    environment = {"PYTHONPATH": f"{tmp_path}:{ROOT / 'src'}", "MOSAIC_VAR_DIR": str(tmp_path)}

    listed = run_python(["-m", "mosaic.cli", "algos", "count", "--json"], environment, tmp_path)
    assert json.loads(listed.stdout)["worker"] == "counter"
    words = ["train", "count", "--env-id", "Any-v0", "--total-timesteps", "5", "--local", "--json"]
    trained = run_python(["-m", "mosaic.cli", *words], environment, tmp_path)
    assert json.loads(trained.stdout)["status"] == "completed", trained.stderr


def run_python(
    words: list[str], environment: dict[str, str], folder: Path
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words],
        env={**os.environ, **environment},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_every_page_is_in_the_table_of_contents() -> None:
    listed = set(re.findall(r"^([\w/-]+)$", (DOCS / "index.md").read_text(), re.MULTILINE))
    pages = {str(page.relative_to(DOCS).with_suffix("")) for page in PAGES[1:]}
    by_pattern = {
        page for page in pages if page.startswith(("benchmarks/", "algorithms/", "environments/"))
    }
    assert pages - listed - by_pattern - {"index"} == set()


def test_headings_that_are_linked_exist() -> None:
    """A link to a part of a page leads to a heading of it."""
    dead = []
    for page in PAGES:
        for target, anchor in re.findall(r"\]\(([^)#:]*)#([^)]+)\)", page.read_text()):
            aimed = page if not target else (page.parent / target).resolve()
            headings = re.findall(r"^#+ (.+)$", aimed.read_text(), re.MULTILINE)
            if anchor not in {slug(heading) for heading in headings}:
                dead.append(f"{page.name}: {target}#{anchor}")
    assert dead == []


def slug(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@pytest.mark.timeout(420)
def test_the_documentation_builds_without_a_warning(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html"]
    done = subprocess.run(
        [*command, str(DOCS), str(tmp_path / "html"), "-d", str(tmp_path / "trees")],
        capture_output=True,
        text=True,
        timeout=400,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "html/guide/concepts.html").is_file()
