"""Promises about the repository itself: pins, forbidden constructs, set-up, Makefile."""

from __future__ import annotations

import ast
import platform
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests import conftest, system_packages
from tests.scripts import load_script

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
GENERATED = re.compile(r"_pb2(_grpc)?\.pyi?$")
SOURCES = sorted(path for path in (ROOT / "src").rglob("*.py") if not GENERATED.search(path.name))
PYTHONS = ("3.11", "3.12")


def requirements() -> list[Requirement]:
    extras = PROJECT["optional-dependencies"].values()
    lines = PROJECT["dependencies"] + [line for extra in extras for line in extra]
    return [Requirement(line) for line in lines if not line.startswith("mosaic-rl[")]


def pins(python: str) -> dict[str, str]:
    """Read constraints.txt as that Python on Linux would."""
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    parsed = [Requirement(line) for line in lines if line and not line.startswith("#")]
    environment = {
        "python_version": python,
        "python_full_version": f"{python}.9",
        "sys_platform": "linux",
        "platform_machine": "x86_64",
    }
    return {
        canonicalize_name(pin.name): str(pin.specifier).removeprefix("==")
        for pin in parsed
        if pin.marker is None or pin.marker.evaluate(environment)
    }


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


# Pins


@pytest.mark.parametrize("python", PYTHONS)
def test_every_requirement_has_one_exact_version_inside_its_range(python: str) -> None:
    known = pins(python)
    for requirement in requirements():
        version = known.get(canonicalize_name(requirement.name))
        assert version, f"{requirement.name} is not in constraints.txt: run `make pins`"
        assert requirement.specifier.contains(version, prereleases=True), str(requirement)


def test_exact_versions_stand_in_constraints_alone() -> None:
    exact = [str(r) for r in requirements() if any(s.operator == "==" for s in r.specifier)]
    assert not exact, f"loosen in pyproject.toml: {exact}"


def test_constraints_name_versions_and_nothing_else() -> None:
    text = (ROOT / "constraints.txt").read_text()
    assert "make pins" in text.splitlines()[1]
    assert not re.search(r"://|--|\s@\s|\+cpu|\+cu", text)


def test_combined_extras_name_every_extra_but_dev() -> None:
    extras = PROJECT["optional-dependencies"]
    named = {
        name for line in extras["default"] + extras["all"] for name in Requirement(line).extras
    }
    assert named == set(extras) - {"all", "dev"}


# Requirements files


def test_requirements_files_are_what_the_script_would_write() -> None:
    made = load_script("make_requirements").files()
    stale = [name for name, text in made.items() if (ROOT / name).read_text() != text]
    assert not stale, f"run .venv/bin/python scripts/make_requirements.py: {stale}"


def test_the_lean_files_bring_no_torch() -> None:
    for name in ("requirements.txt", "requirements/base.txt", "requirements/spade_bdi_worker.txt"):
        lines = (ROOT / name).read_text().splitlines()
        parsed = [Requirement(line) for line in lines if line[0] not in "#-"]
        assert "torch" not in {requirement.name for requirement in parsed}
    assert "\ntorch>=" in (ROOT / "requirements/cleanrl_worker.txt").read_text()


# Source files


def calls(tree: ast.AST) -> Iterator[tuple[str, ast.Call]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), node


def imported_modules(tree: ast.AST) -> set[str]:
    nodes = list(ast.walk(tree))
    plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return plain | {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}


def opens_shell(call: ast.Call) -> bool:
    return any(
        keyword.arg == "shell"
        and not (isinstance(keyword.value, ast.Constant) and not keyword.value.value)
        for keyword in call.keywords
    )


def test_nothing_is_pickled_evaluated_or_given_to_a_shell() -> None:
    offences = []
    for path in SOURCES:
        tree = ast.parse(path.read_text())
        banned = imported_modules(tree) & {"pickle", "cloudpickle", "dill", "marshal", "shelve"}
        offences += [f"{relative(path)}: imports {name}" for name in sorted(banned)]
        for name, call in calls(tree):
            if name in {"eval", "exec", "os.system", "os.popen"} or opens_shell(call):
                offences.append(f"{relative(path)}:{call.lineno}: {name}(...)")
    assert not offences


def test_no_unfinished_work_is_left_in_the_source() -> None:
    marks = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
    assert not [relative(path) for path in SOURCES if marks.search(path.read_text())]


def test_source_files_stay_readable() -> None:
    sizes = {relative(path): len(path.read_text().splitlines()) for path in SOURCES}
    assert not {name: size for name, size in sizes.items() if size > 600}


# Make


def test_makefile_has_its_targets() -> None:
    phony = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert phony
    expected = "help setup setup-all run test learn bench check docs pins schema proto clean"
    assert set(phony.group(1).split()) == set(expected.split())


def test_make_alone_lists_the_targets() -> None:
    listing = subprocess.run(
        ["make", "--no-print-directory"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert "make run" in listing
    assert "make test" in listing


# System packages


@pytest.fixture
def nothing_installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    absent = system_packages.SystemPackage("libabsent1", lambda: False)
    monkeypatch.setitem(system_packages.SYSTEM_PACKAGES, "absent", absent)
    yield
    system_packages.missing_message.cache_clear()


class MarkedItem:
    """The part of a pytest item that the hook looks at."""

    def __init__(self, name: str) -> None:
        self.marker = pytest.mark.needs_system(name).mark

    def iter_markers(self, name: str) -> list[pytest.Mark]:
        return [self.marker] if self.marker.name == name else []


@pytest.mark.usefixtures("nothing_installed")
def test_a_missing_system_package_skips_and_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(conftest.REQUIRE_SYSTEM, raising=False)
    with pytest.raises(pytest.skip.Exception, match="apt-get install libabsent1"):
        conftest.pytest_runtest_setup(MarkedItem("absent"))


@pytest.mark.usefixtures("nothing_installed")
def test_a_missing_system_package_fails_where_it_is_required(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(conftest.REQUIRE_SYSTEM, "1")
    with pytest.raises(pytest.fail.Exception, match="apt-get install libabsent1"):
        conftest.pytest_runtest_setup(MarkedItem("absent"))


@pytest.mark.parametrize("name", ["chromium", "egl", "qt5"])
def test_ci_brings_the_system_packages(name: str, request: pytest.FixtureRequest) -> None:
    request.node.add_marker(pytest.mark.needs_system(name))
    conftest.pytest_runtest_setup(request.node)


# Set-up


@pytest.fixture
def setup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Load scripts/setup.py over an empty directory, with none of the user's choices."""
    module = load_script("setup")
    venv = tmp_path / ".venv"
    monkeypatch.setattr(module, "VENV", venv)
    monkeypatch.setattr(module, "VENV_PYTHON", venv / "bin" / "python")
    monkeypatch.setattr(module, "STAMP", venv / ".mosaic-setup")
    monkeypatch.setattr(module, "UNFINISHED", venv / ".mosaic-setup-unfinished")
    for name in ("PYTHON", "MOSAIC_TORCH", "UV_FIND_LINKS", "PIP_FIND_LINKS"):
        monkeypatch.delenv(name, raising=False)
    return module


def executable(path: Path, script: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def install_fake_torch(setup: ModuleType, build: str) -> None:
    name = f"torch-{setup.torch_pin()}{build}.dist-info"
    (setup.VENV / "lib" / "python3.11" / "site-packages" / name).mkdir(parents=True)


def install_fake_environment(setup: ModuleType, package_set: str) -> None:
    install_fake_torch(setup, "+cpu")
    executable(setup.VENV_PYTHON, "echo 3 11")
    setup.STAMP.write_text(setup.stamp(setup.EXTRAS[package_set]))


@pytest.mark.parametrize("is_forbidden", [True, False])
def test_setup_compiles_what_python_may_not_keep_itself(
    setup: ModuleType, monkeypatch: pytest.MonkeyPatch, is_forbidden: bool
) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1" if is_forbidden else "")
    monkeypatch.setattr(setup, "ROOT", setup.VENV.parent)
    package = setup.VENV / "lib" / "python3.11" / "site-packages" / "package"
    (package / "tests").mkdir(parents=True)
    for path in (package / "module.py", package / "tests" / "test_module.py"):
        path.write_text("VALUE = 1\n")
    (package / "of_another_python.py").write_text("print 1\n")
    executable(setup.VENV_PYTHON, f'exec "{sys.executable}" "$@"')
    setup.compile_bytecode()
    compiled = [path.name for path in package.rglob("*.pyc")]
    assert [name.split(".")[0] for name in compiled] == (["module"] if is_forbidden else [])


def test_setup_passes_over_a_launcher_that_does_not_run(
    setup: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    executable(tmp_path / "bin" / "python3.11", "exit 127")
    executable(tmp_path / "bin" / "python3.12", "echo 3 12")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert setup.find_python() == "python3.12"


def test_setup_refuses_in_one_line_without_a_fitting_python(
    setup: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    executable(tmp_path / "bin" / "python3", "echo 3 13")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert setup.main(["default"]) == 2
    captured = capfd.readouterr()
    assert captured.err.count("\n") == 1
    assert "Python 3.11 or 3.12" in captured.err
    assert not setup.VENV.exists()


def test_setup_takes_the_python_it_is_told(
    setup: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHON", sys.executable)
    assert setup.find_python() == sys.executable
    monkeypatch.setenv("PYTHON", str(executable(tmp_path / "old", "echo 3 9")))
    with pytest.raises(setup.SetupError, match="PYTHON="):
        setup.find_python()


@pytest.mark.parametrize(
    ("installed", "asked", "satisfied"),
    [
        ("default", "default", True),
        ("all", "default", True),
        ("all", "test", True),
        ("default", "all", False),
    ],
)
def test_a_stamp_satisfies_its_set_and_smaller_ones(
    setup: ModuleType, installed: str, asked: str, satisfied: bool
) -> None:
    install_fake_environment(setup, installed)
    assert setup.is_satisfied(asked) is satisfied


def test_setup_says_and_does_nothing_when_nothing_changed(
    setup: ModuleType, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    install_fake_environment(setup, "default")
    monkeypatch.setattr(setup, "make_venv", lambda: pytest.fail("builds again"))
    assert setup.main(["default"]) == 0
    assert capfd.readouterr() == ("", "")


def test_a_killed_setup_is_started_again(setup: ModuleType) -> None:
    install_fake_environment(setup, "all")
    setup.UNFINISHED.touch()
    assert not setup.is_satisfied("default")


def test_a_stamp_is_void_once_the_interpreter_is_gone(setup: ModuleType) -> None:
    install_fake_environment(setup, "all")
    setup.VENV_PYTHON.unlink()
    assert not setup.is_satisfied("default")


@pytest.mark.parametrize(
    ("system", "machine", "gpu", "build"),
    [
        ("Linux", "x86_64", None, "cpu"),
        ("Linux", "x86_64", "GPU 0: NVIDIA", "cuda"),
        ("Linux", "aarch64", None, "cuda"),
        ("Darwin", "arm64", None, "cuda"),
    ],
)
def test_torch_fits_the_machine(
    setup: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    system: str,
    machine: str,
    gpu: str | None,
    build: str,
) -> None:
    monkeypatch.setattr(platform, "system", lambda: system)
    monkeypatch.setattr(platform, "machine", lambda: machine)
    monkeypatch.setattr(setup, "output_of", lambda command: gpu)
    monkeypatch.setattr(setup.Path, "exists", lambda path: False)
    assert setup.fitting_torch() == build


def test_a_cpu_wheel_must_be_of_this_version_python_and_machine(
    setup: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    pin = setup.torch_pin()
    wheel = f"torch-{pin}+cpu-cp311-cp311-manylinux_2_28_x86_64.whl"
    assert setup.is_cpu_wheel(wheel, (3, 11))
    assert setup.is_cpu_wheel(wheel.replace("+", "%2B"), (3, 11))
    assert not setup.is_cpu_wheel(wheel, (3, 12))
    assert not setup.is_cpu_wheel(wheel.replace("+cpu", ""), (3, 11))
    assert not setup.is_cpu_wheel(wheel.replace(pin, "1.0.0"), (3, 11))
    assert not setup.is_cpu_wheel(wheel.replace("x86_64", "aarch64"), (3, 11))


@pytest.fixture
def wheel_folder(setup: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Hold a CPU wheel for Python 3.11, which .venv runs, on a machine without a GPU."""
    executable(setup.VENV_PYTHON, "echo 3 11")
    monkeypatch.setattr(setup, "fitting_torch", lambda: "cpu")
    folder = tmp_path / "wheels"
    folder.mkdir()
    name = f"torch-{setup.torch_pin()}+cpu-cp311-cp311-linux_{platform.machine()}.whl"
    (folder / name).touch()
    return folder


def test_a_local_cpu_wheel_is_used(setup: ModuleType, wheel_folder: Path) -> None:
    assert setup.choose_torch("uv", [wheel_folder]) == ([], [wheel_folder])


def test_asking_for_cuda_hides_the_local_cpu_wheel(
    setup: ModuleType, wheel_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOSAIC_TORCH", "cuda")
    assert setup.choose_torch("uv", [wheel_folder]) == ([], [])


@pytest.mark.usefixtures("wheel_folder")
def test_without_a_local_wheel_uv_takes_its_cpu_backend(
    setup: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(setup, "reaches_cpu_index", lambda uv: True)
    assert setup.choose_torch("uv", []) == (["--torch-backend=cpu"], [])


@pytest.mark.usefixtures("wheel_folder")
@pytest.mark.parametrize("uv", ["uv", None])
def test_cuda_is_never_fetched_unasked(
    setup: ModuleType, monkeypatch: pytest.MonkeyPatch, uv: str | None
) -> None:
    monkeypatch.setattr(setup, "reaches_cpu_index", lambda uv: False)
    with pytest.raises(setup.SetupError, match="MOSAIC_TORCH=cuda") as refusal:
        setup.choose_torch(uv, [])
    message, exit_code = refusal.value.args
    assert exit_code == 3
    assert "\n" not in message


@pytest.mark.parametrize(
    ("build", "request_", "kept"),
    [
        ("+cpu", None, True),
        ("", None, True),
        ("+cpu", "cpu", True),
        ("+cpu", "cuda", False),
        ("", "cpu", False),
        ("", "cuda", True),
    ],
)
def test_an_installed_torch_is_kept_unless_another_build_is_asked_for(
    setup: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    build: str,
    request_: str | None,
    kept: bool,
) -> None:
    install_fake_torch(setup, build)
    if request_:
        monkeypatch.setenv("MOSAIC_TORCH", request_)
    assert setup.keeps_torch() is kept


def test_an_unknown_torch_build_is_refused(
    setup: ModuleType, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MOSAIC_TORCH", "tpu")
    assert setup.main(["default"]) == 2
    assert capfd.readouterr().err == "setup: MOSAIC_TORCH=tpu is neither cpu nor cuda\n"


def test_wheel_folders_come_from_uv_and_pip(
    setup: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, absent = tmp_path / "a", tmp_path / "b", tmp_path / "absent"
    first.mkdir()
    second.mkdir()
    monkeypatch.setenv("UV_FIND_LINKS", f"{first},{absent}")
    listing = (
        f"global.find-links='ignored'\nglobal.index-url='x'\n:env:.find-links='file://{second}'"
    )
    ordered = "\n".join(sorted(listing.splitlines()))
    monkeypatch.setattr(setup, "output_of", lambda command: ordered)
    settings = setup.pip_settings()
    assert settings == {"find-links": f"file://{second}", "index-url": "x"}
    assert setup.link_folders(settings) == [first, second]


def test_generated_protocol_is_what_the_proto_file_says(tmp_path: Path) -> None:
    (tmp_path / "mosaic" / "proto").mkdir(parents=True)
    command = [sys.executable, "-m", "grpc_tools.protoc", "-I.", f"--python_out={tmp_path}"]
    command += [f"--grpc_python_out={tmp_path}", "mosaic/proto/trainer.proto"]
    subprocess.run(command, cwd=ROOT / "src", check=True)
    for name in ("trainer_pb2.py", "trainer_pb2_grpc.py"):
        made = (tmp_path / "mosaic" / "proto" / name).read_text()
        assert made == (ROOT / "src" / "mosaic" / "proto" / name).read_text(), "run 'make proto'"
