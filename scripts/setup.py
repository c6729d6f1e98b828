#!/usr/bin/env python3
"""Build .venv with one set of packages; a second call finds the stamp and returns at once.

    python3 scripts/setup.py default   what a user needs
    python3 scripts/setup.py all       every extra and the development tools ("test" is the same)

PYTHON=...            the interpreter to build with (3.11 or 3.12)
MOSAIC_TORCH=cpu|cuda the torch build, instead of the one that fits this machine
"""

from __future__ import annotations

import ast
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CONSTRAINTS = ROOT / "constraints.txt"
VENV = ROOT / ".venv"
VENV_PYTHON = VENV / "bin" / "python"
STAMP = VENV / ".mosaic-setup"
# Stands while packages are being written: found at the start, it means the last call was killed.
UNFINISHED = VENV / ".mosaic-setup-unfinished"

EXTRAS = {"default": "default", "test": "all,dev", "all": "all,dev"}
PYTHONS = ("python3.11", "python3.12", "python3", "python")
SUPPORTED = ((3, 11), (3, 12))
OLDEST_UV = (0, 7)  # the first series whose `pip install` takes --torch-backend


class SetupError(Exception):
    """Carries one line for the user, and the exit code that goes with it."""


def say(message: str) -> None:
    print(f"setup: {message}", flush=True)


def output_of(command: list[str], **environment: str) -> str | None:
    """Return what the command prints, or None if it cannot be run or fails."""
    env = {**os.environ, **environment}
    try:
        output = subprocess.check_output(command, env=env, stderr=subprocess.DEVNULL, timeout=300)
    except (OSError, subprocess.SubprocessError):
        return None
    return output.decode(errors="replace").strip()


def python_version(python: str | Path) -> tuple[int, int] | None:
    """Ask the interpreter itself: a launcher on PATH may stand for a version that is not there."""
    answer = output_of([str(python), "-c", "import sys; print(*sys.version_info[:2])"])
    numbers = (answer or "").split()
    return (int(numbers[0]), int(numbers[1])) if len(numbers) == 2 else None


def find_python() -> str:
    wanted = os.environ.get("PYTHON")
    for candidate in (wanted,) if wanted else PYTHONS:
        if python_version(candidate) in SUPPORTED:
            return candidate
    problem = f"PYTHON={wanted} is no working" if wanted else "found no"
    raise SetupError(f"{problem} Python 3.11 or 3.12: install one, or name it with PYTHON=/path", 2)


def has_fitting_python() -> bool:
    """Tell whether .venv runs, on the Python that was asked for if one was."""
    wanted = (python_version(find_python()),) if os.environ.get("PYTHON") else SUPPORTED
    return python_version(VENV_PYTHON) in wanted


def stamp(extras: str) -> str:
    """Identify an installation by all that it depends on."""
    parts = (ROOT / "pyproject.toml", CONSTRAINTS, Path(__file__))
    return hashlib.sha256(b"\0".join(part.read_bytes() for part in parts)).hexdigest() + extras


def is_satisfied(package_set: str) -> bool:
    """Tell whether .venv holds this set, or a bigger one, as it would be installed now."""
    if UNFINISHED.exists() or not STAMP.exists():
        return False
    fitting = (stamp(EXTRAS[package_set]), stamp(EXTRAS["all"]))
    return STAMP.read_text() in fitting and keeps_torch() and has_fitting_python()


def make_venv() -> None:
    """Keep a usable .venv; replace one that was interrupted or belongs to another Python."""
    if has_fitting_python() and not UNFINISHED.exists():
        return
    python = find_python()
    say(f"creating .venv with {python}")
    shutil.rmtree(VENV, ignore_errors=True)
    VENV.mkdir()
    UNFINISHED.touch()
    if output_of([python, "-m", "venv", str(VENV)]) is None:
        raise SetupError(f"{python} -m venv failed: is a package like python3-venv missing?", 2)


def uv_at(path: str | None) -> str | None:
    version = re.match(r"uv (\d+)\.(\d+)", output_of([path, "--version"]) or "") if path else None
    return path if version and tuple(map(int, version.groups())) >= OLDEST_UV else None


def bring_uv() -> str | None:
    """Find uv or install it into .venv; None means that pip has to do."""
    own = str(VENV / "bin" / "uv")
    uv = uv_at(shutil.which("uv")) or uv_at(own)
    if not uv:
        output_of([str(VENV_PYTHON), "-m", "pip", "install", "-q", "-c", str(CONSTRAINTS), "uv"])
    return uv or uv_at(own)


def pip_settings() -> dict[str, str]:
    """Read pip's settings, which uv does not know: of its files, then of the environment."""
    listing = output_of([str(VENV_PYTHON), "-m", "pip", "config", "list"]) or ""
    pairs = re.findall(r"^\S*?\.([\w-]+)=(.+)$", listing, re.MULTILINE)
    return {name: str(ast.literal_eval(value)) for name, value in reversed(pairs)}


def link_folders(settings: dict[str, str]) -> list[Path]:
    given = os.environ.get("UV_FIND_LINKS", "") + " " + settings.get("find-links", "")
    folders = [Path(re.sub("^file://", "", entry)) for entry in re.split(r"[\s,]+", given) if entry]
    return [folder for folder in dict.fromkeys(folders) if folder.is_dir()]


def torch_request() -> str | None:
    request = os.environ.get("MOSAIC_TORCH") or None
    if request not in (None, "cpu", "cuda"):
        raise SetupError(f"MOSAIC_TORCH={request} is neither cpu nor cuda", 2)
    return request


def torch_pin() -> str:
    return re.findall(r"^torch==([\w.]+)", CONSTRAINTS.read_text(), re.MULTILINE)[0]


def installed_torch() -> str | None:
    folders = VENV.glob("lib/python3*/site-packages/torch-*.dist-info")
    return next((folder.name[len("torch-") : -len(".dist-info")] for folder in folders), None)


def keeps_torch() -> bool:
    """Tell whether the installed torch is the pinned version, and the build that was asked for."""
    version, _, build = (installed_torch() or "").partition("+")
    return version == torch_pin() and torch_request() in (None, build if build == "cpu" else "cuda")


def is_cpu_wheel(wheel: str, python: tuple[int, int]) -> bool:
    """Tell whether this file is the pinned torch, built for the CPU and for this Python."""
    start = r"torch-{}(\+|%2B)cpu-cp{}{}-".format(re.escape(torch_pin()), *python)
    return bool(re.fullmatch(rf"{start}.*{platform.machine()}\.whl", wheel))


def fitting_torch() -> str:
    """Only on x86 Linux does the ordinary build bring gigabytes of CUDA, for a GPU to use."""
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        return "cuda"
    has_gpu = Path("/proc/driver/nvidia/version").exists() or output_of(["nvidia-smi", "-L"])
    return "cuda" if has_gpu else "cpu"


def reaches_cpu_index(uv: str) -> bool:
    """Ask for the index of CPU builds, whose address uv knows, without installing from it."""
    command = [uv, "pip", "install", "--dry-run", "--no-deps", "--reinstall-package", "torch"]
    command += ["--torch-backend=cpu", "--python", str(VENV_PYTHON), f"torch=={torch_pin()}"]
    return output_of(command, UV_HTTP_RETRIES="1", UV_HTTP_TIMEOUT="15") is not None


def choose_torch(uv: str | None, folders: list[Path]) -> tuple[list[str], list[Path]]:
    """Return installer options and link folders that lead to the right torch build."""
    if keeps_torch():
        return [], folders
    python = python_version(VENV_PYTHON)
    holding = [f for f in folders if any(is_cpu_wheel(w.name, python) for w in f.glob("torch-*"))]
    if (torch_request() or fitting_torch()) == "cuda":
        say("torch: the ordinary build")
        return [], [folder for folder in folders if folder not in holding]
    if holding:
        say(f"torch: the CPU build in {holding[0]}")
        return [], folders
    if uv and reaches_cpu_index(uv):
        say("torch: the CPU build")
        return ["--torch-backend=cpu"], folders
    what = "torch {} for Python {}.{}".format(torch_pin(), *python)
    fix = "MOSAIC_TORCH=cuda takes the ordinary one (downloads about 3 GB)"
    raise SetupError(f"no CPU build of {what} can be reached; {fix}", 3)


def installer_environment(settings: dict[str, str], folders: list[Path]) -> dict[str, str]:
    """Tell uv what pip is configured with; what was set for uv itself stands."""
    links = [str(folder) for folder in folders]
    known = {"UV_DEFAULT_INDEX": settings.get("index-url"), "SSL_CERT_FILE": settings.get("cert")}
    chosen = {"UV_FIND_LINKS": ",".join(links), "PIP_FIND_LINKS": " ".join(links)}
    return {**{name: value for name, value in known.items() if value}, **os.environ, **chosen}


def install(uv: str | None, package_set: str) -> None:
    settings = pip_settings()
    options, folders = choose_torch(uv, link_folders(settings))
    pip = [str(VENV_PYTHON), "-m", "pip", "--quiet"]
    command = [uv, "pip", "install", "--python", str(VENV_PYTHON)] if uv else [*pip, "install"]
    command += [*options, "--quiet", "-c", str(CONSTRAINTS)]
    command += ["-e", f"{ROOT}[{EXTRAS[package_set]}]"]
    UNFINISHED.touch()
    if installed_torch() and not keeps_torch():
        # Both builds of one version satisfy the pin, so the installer would keep the wrong one.
        output_of([*pip, "uninstall", "--yes", "torch"])
    exit_code = subprocess.call(command, env=installer_environment(settings, folders))
    UNFINISHED.unlink()
    if exit_code:
        raise SetupError("the installation failed; the lines above say why", 1)


def compile_bytecode() -> None:
    """Compile once what this environment forbids Python to keep: torch alone takes 3 s a start.

    Elsewhere the first import of a module writes its bytecode, and nothing needs to be done.
    """
    if not os.environ.get("PYTHONDONTWRITEBYTECODE"):
        return
    say("compiling bytecode, since PYTHONDONTWRITEBYTECODE is set")
    folders = [*map(str, VENV.glob("lib/python3*/site-packages")), str(ROOT / "src")]
    command = [str(VENV_PYTHON), "-m", "compileall", "-q", "-j", "0"]
    # Some packages carry files for other Pythons; these do not compile, and nothing imports them.
    output_of([*command, "-x", r"site-packages.*[\\/]tests?[\\/]", *folders])


def set_up(package_set: str) -> None:
    torch_request()
    if is_satisfied(package_set):
        return
    start = time.monotonic()
    make_venv()
    uv = bring_uv()
    say(f"installing the set '{package_set}' with {'uv' if uv else 'pip (no uv was found)'}")
    install(uv, package_set)
    compile_bytecode()
    STAMP.write_text(stamp(EXTRAS[package_set]))
    say(f"done in {time.monotonic() - start:.0f} s")


def main(arguments: list[str]) -> int:
    if len(arguments) != 1 or arguments[0] not in EXTRAS:
        print(f"usage: setup.py {'|'.join(EXTRAS)}", file=sys.stderr)
        return 2
    try:
        set_up(arguments[0])
    except SetupError as error:
        message, exit_code = error.args
        print(f"setup: {message}", file=sys.stderr)
        return exit_code
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
