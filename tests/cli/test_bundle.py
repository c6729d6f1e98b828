"""`mosaic bundle`, with a real environment and a real installer, and packages of a few bytes."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from mosaic.cli import bundle_building, bundle_contents, bundle_installer
from mosaic.cli.bundle import run
from mosaic.cli.bundle_contents import Contents, contents_of_extras
from mosaic.contracts.errors import ConfigError, DependencyMissing
from mosaic.contracts.paths import VarPaths


def write_wheel(folder: Path, name: str, version: str) -> None:
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{name}/__init__.py", f"VERSION = {version!r}\n")
        wheel.writestr(f"{name}/roms/__init__.py", "")
        wheel.writestr(
            f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        )
        wheel.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{info}/RECORD", "")


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let the installer find a few tiny wheels, and nothing else."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    for name, version in (("torch", "0.0.1"), ("minigrid", "9.9"), ("ale_py", "0.8.1")):
        write_wheel(folder, name, version)
    monkeypatch.setenv("UV_NO_INDEX", "1")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("UV_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setattr(bundle_installer.metadata, "version", lambda name: "0.0.1")
    return folder


@pytest.mark.parametrize("installer", ["uv", "pip"])
def test_a_bundle_is_made_listed_shown_and_removed(
    installer: str,
    wheels: Path,
    var_dir: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if installer == "pip":
        monkeypatch.setattr(bundle_installer, "find_uv", lambda: None)
    made = Contents(("minigrid",), ("minigrid==9.9",), ("minigrid",))
    monkeypatch.setattr(bundle_contents, "contents_of_extras", lambda extras: made)
    assert run(["create", "grids", "--extra", "minigrid", "--json"]) == 0
    answer = capsys.readouterr()
    document = json.loads(answer.out)
    assert installer in answer.err
    assert document["packages"] == {"minigrid": "9.9", "torch": "0.0.1"}
    assert "minigrid" in document["satisfies"]

    found = subprocess.run(
        [document["python"], "-c", "import minigrid, sys; print(minigrid.VERSION, sys.prefix)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.split() == ["9.9", str(var_dir / "trainer" / "venvs" / "grids")]

    assert run(["create", "grids", "--extra", "minigrid"]) == 0  # it stands: nothing is built
    assert "installing" not in capsys.readouterr().err
    assert run(["list", "--json"]) == 0
    assert [each["name"] for each in json.loads(capsys.readouterr().out)] == ["grids"]
    assert run(["show", "grids"]) == 0
    assert "minigrid" in capsys.readouterr().out
    assert run(["rm", "grids"]) == 0
    assert list((var_dir / "trainer" / "venvs").iterdir()) == []


def test_a_failed_build_leaves_nothing(wheels: Path, var_dir: Path) -> None:
    contents = Contents(("no-such-package",), (), ("x",))
    with pytest.raises(DependencyMissing, match=r"Installing failed.*no-such-package"):
        bundle_building.build_bundle(VarPaths(var_dir), "bad", contents, lambda text: None)
    assert list((var_dir / "trainer" / "venvs").iterdir()) == []


def test_what_a_killed_build_left_goes_with_the_next(wheels: Path, var_dir: Path) -> None:
    left = var_dir / "trainer" / "venvs" / ".new-999999999-x"
    left.mkdir(parents=True)
    contents = Contents(("minigrid",), (), ("minigrid",))
    bundle_building.build_bundle(VarPaths(var_dir), "next", contents, lambda text: None)
    assert not left.exists()


def test_a_bundle_for_cleanrl_gets_the_roms_that_are_installed_here(
    wheels: Path, var_dir: Path
) -> None:
    contents = Contents(("ale_py==0.8.1",), profile="cleanrl")
    bundle = bundle_building.build_bundle(VarPaths(var_dir), "c", contents, lambda text: None)
    assert list(bundle.root.glob("lib/python3*/site-packages/ale_py/roms/breakout.bin"))


def test_a_bundle_that_is_there_is_not_replaced(wheels: Path, var_dir: Path) -> None:
    paths = VarPaths(var_dir)
    contents = Contents(("minigrid",), (), ("minigrid",))
    bundle = bundle_building.build_bundle(paths, "b", contents, lambda text: None)
    with pytest.raises(ConfigError, match="is there already, with minigrid"):
        bundle_building.build_bundle(paths, "b", Contents((), (), ("atari",)), lambda text: None)
    with subprocess.Popen([str(bundle.python), "-c", "input()"], stdin=subprocess.PIPE) as user:
        with pytest.raises(ConfigError, match=f"in use by process {user.pid}"):
            bundle_building.remove_bundle(paths, "b")
        user.kill()


def test_extras_become_the_requirements_of_the_distribution() -> None:
    contents = contents_of_extras(["procgen"])
    assert any(each.startswith("envpool") for each in contents.requirements)
    assert any(each.startswith("gymnasium[") for each in contents.requirements)
    assert not any(each.startswith(("nicegui", "mosaic-rl")) for each in contents.requirements)
    with pytest.raises(ConfigError, match="Did you mean 'atari'"):
        contents_of_extras(["atary"])


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["creat"], "Did you mean 'create'"),
        (["create", "../x", "--extra", "atari"], "bundle='../x' is not allowed"),
        (["create", "x", "--extra", "atari", "--cleanrl"], "contradict"),
        (["show", "nothing"], "is not there"),
    ],
)
def test_bad_words_are_told_in_one_line(var_dir: Path, words: list[str], text: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mosaic.cli", "bundle", *words], capture_output=True, text=True
    )
    assert done.returncode in (2, 3)
    assert text in done.stderr
    assert len(done.stderr.splitlines()) == 1
