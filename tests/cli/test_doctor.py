"""`mosaic doctor`: a machine as it is, and what is said where something is wrong."""

from __future__ import annotations

import fcntl
import json
import os
import socket
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from mosaic.cli import doctor_checks
from mosaic.cli.doctor_checks import Check, Status
from mosaic.contracts import installed
from mosaic.contracts.installed import EXTRAS, install_command, repair_command
from mosaic.contracts.paths import VarPaths
from tests.cli.conftest import Mosaic

PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"


def checks_of(done: subprocess.CompletedProcess[str]) -> dict[str, dict[str, Any]]:
    document = json.loads(done.stdout)
    return {check["name"]: check for check in document["checks"]}


def one(checks: Any, name: str) -> Check:
    (found,) = [check for check in checks if check.name == name]
    assert isinstance(found, Check)
    return found


def test_a_healthy_machine(mosaic: Mosaic, workplace: Path) -> None:
    done = mosaic("doctor", "--json")
    found = checks_of(done)
    assert found["python"]["status"] == found["core"]["status"] == "ok"
    assert "torch" in found["core"]["text"]
    assert found["worker cleanrl"]["status"] == "ok"
    assert found["extra trainer"] == {
        "name": "extra trainer",
        "status": "ok",
        "text": "installed",
        "fix": "",
    }
    assert list(workplace.iterdir()) == [], "it writes nothing"


def test_a_worker_that_cannot_be_imported_is_a_problem(mosaic: Mosaic) -> None:
    done = mosaic("doctor", "--json")  # tests/cli/site holds a broken one
    assert done.returncode == 1
    assert not json.loads(done.stdout)["healthy"]
    assert checks_of(done)["worker broken"]["status"] == "problem"
    text = mosaic("doctor").stdout
    assert "!!  worker broken" in text
    assert "install what it lacks, or remove its package" in text
    assert text.splitlines()[-1].startswith("1 problem")


def test_it_imports_nothing_heavy(mosaic: Mosaic) -> None:
    program = (
        "import sys; from mosaic.cli.main import main; main(['doctor']);"
        "print([m for m in ('torch', 'jax', 'gymnasium', 'grpc', 'numpy') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_every_extra_of_the_distribution_is_looked_for() -> None:
    groups = tomllib.loads(PYPROJECT.read_text())["project"]["optional-dependencies"]
    assert set(EXTRAS) == set(groups) - {"default", "all", "dev"}


def test_an_extra_that_is_not_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(EXTRAS, "box2d", ("Box2D", "no_such_module", "no_such_parent.module"))
    check = one(doctor_checks.check_extras(VarPaths(tmp_path)), "extra box2d")
    assert check.status is Status.MISSING
    assert check.text.endswith("no_such_module, no_such_parent.module")
    assert check.fix.endswith("'mosaic-rl[box2d]'")


def test_the_command_installs_where_mosaic_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
    monkeypatch.setattr(sys, "prefix", "/usr")
    assert install_command("atari", "jax") == "pip install 'mosaic-rl[atari,jax]'"
    monkeypatch.setenv("PATH", str(tmp_path))
    assert install_command("atari") == f"{sys.executable} -m pip install 'mosaic-rl[atari]'"


def test_in_a_checkout_of_its_own_it_keeps_to_the_versions_that_fit_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "prefix", str(PYPROJECT.parent / ".venv"))
    pins = PYPROJECT.parent / "constraints.txt"
    assert install_command("spade").endswith(f"pip install -c {pins} 'mosaic-rl[spade]'")


def test_what_every_installation_has_is_brought_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", str(PYPROJECT.parent / ".venv"))
    assert repair_command() == f"make -C {PYPROJECT.parent} setup"
    monkeypatch.setattr(sys, "prefix", "/usr")
    assert repair_command().endswith("mosaic-rl")


def test_libraries_that_pip_does_not_bring(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(installed, "_LIBRARY_FOLDERS", (str(tmp_path),))
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    monkeypatch.setenv("MUJOCO_GL", "osmesa")
    check = one(doctor_checks.check_libraries(VarPaths(tmp_path)), "libraries of procgen")
    assert (check.status, check.fix) == (Status.WARNING, "apt-get install libqt5core5a libqt5gui5")
    check = one(doctor_checks.check_rendering(VarPaths(tmp_path)), "renderer osmesa")
    assert (check.text, check.fix) == ("lacks libOSMesa.so.8", "apt-get install libosmesa6")
    (tmp_path / "libOSMesa.so.8").touch()
    check = one(doctor_checks.check_rendering(VarPaths(tmp_path)), "renderer osmesa")
    assert check.status is Status.OK


def test_settings_that_are_wrong(tmp_path: Path) -> None:
    paths = VarPaths(tmp_path)
    paths.settings.write_text("[trainer]\ncpus = 0\n")
    check = one(doctor_checks.check_settings(paths), "settings")
    assert check.status is Status.PROBLEM
    assert "trainer.cpus=0 is not allowed" in check.text
    assert str(paths.settings) in check.fix


def test_a_data_directory_that_cannot_be_written(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        paths = VarPaths(Path("/proc/var"))  # where not even root writes
    else:
        tmp_path.chmod(0o500)
        paths = VarPaths(tmp_path / "var")
    check = one(doctor_checks.check_data_directory(paths), "data directory")
    assert check.status is Status.PROBLEM
    assert "MOSAIC_VAR_DIR" in check.fix


@pytest.mark.parametrize(
    ("environment", "status"),
    [
        ({}, Status.WARNING),
        ({"MUJOCO_GL": "egl"}, Status.OK),
        ({"DISPLAY": ":0"}, Status.OK),
        ({"MUJOCO_GL": "glfw"}, Status.WARNING),
    ],
)
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is always a display")
def test_rendering_without_a_display(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, environment: dict[str, str], status: Status
) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "MUJOCO_GL"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert one(doctor_checks.check_rendering(VarPaths(tmp_path)), "rendering").status is status


def test_the_daemon_as_its_files_tell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MOSAIC_GRPC_TARGET", raising=False)
    paths = VarPaths(tmp_path)
    paths.trainer.mkdir()

    def told() -> str:
        return one(doctor_checks.check_daemon(paths), "daemon").text

    paths.daemon_info.write_text(json.dumps({"pid": os.getpid(), "port": 4711}))
    assert "not running" in told()  # nobody holds its lock
    with paths.daemon_lock.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert told() == f"runs: process {os.getpid()}, port 4711"
        paths.daemon_info.unlink()
        assert told() == "starts just now"
    monkeypatch.setenv("MOSAIC_GRPC_TARGET", "elsewhere")
    check = one(doctor_checks.check_daemon(paths), "daemon")
    assert (check.status, check.fix) == (Status.PROBLEM, "unset MOSAIC_GRPC_TARGET")


def test_a_port_that_is_taken_is_no_problem(tmp_path: Path) -> None:
    paths = VarPaths(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as server:
        paths.settings.write_text(f"[trainer]\nport = {server.getsockname()[1]}\n")
        taken = one(doctor_checks.check_daemon(paths), "port")
    assert "is taken by another program" in taken.text
    assert taken.status is Status.OK


def test_so_is_that_of_the_gui(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setattr(doctor_checks, "DEFAULT_PORT", server.getsockname()[1])
        [taken] = doctor_checks.check_gui(VarPaths(tmp_path))
    assert "is taken by another program: the GUI will choose a free one" in taken.text
    assert list(doctor_checks.check_gui(VarPaths(tmp_path))) == []
