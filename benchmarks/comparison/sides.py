"""The two sides: our worker, and CleanRL's script in the user's own checkout and interpreter."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from comparison.interpreters import Interpreter
from comparison.measuring import NotMeasured, Recording, read_recording
from comparison.rows import CLEANRL_PACKAGES, Row
from mosaic.contracts.errors import ConfigError

SOURCE = Path(__file__).resolve().parents[2] / "src"
# The threads of an operation, alike on both sides: OpenMP (torch, oneDNN), MKL, OpenBLAS (NumPy).
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
LINES_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Task:
    """One training run: what both sides are asked to do, and the folder for its files."""

    row: Row
    steps: int
    seed: int
    settings: Mapping[str, Any]
    folder: Path


class Side(Protocol):
    name: str
    python: Path

    def check(self, row: Row) -> Interpreter:
        """Refuse what would fail later: a script or a package that is not there."""
        ...

    def environment(self) -> dict[str, str]: ...

    def command(self, task: Task) -> list[str]: ...

    def program(self, task: Task) -> list[str]:
        """Return kind, target and arguments for matmul_probe."""
        ...


class CleanRL:
    """An unmodified script: it is told what to do by flags and environment variables only."""

    name = "CleanRL"

    def __init__(self, home: Path, python: Path, threads: int = 1, *, cuda: bool = False) -> None:
        if not home.is_dir():
            raise ConfigError(f"--cleanrl-home={str(home)!r} is not a directory.")
        self._cuda = cuda
        # Not resolved: a virtual environment's python is a link, and its path is what makes it one.
        self._home, self.python = home.resolve(), python.absolute()
        self._threads = threads

    def check(self, row: Row) -> Interpreter:
        if not (self._home / row.script).is_file():
            raise ConfigError(
                f"--cleanrl-home={str(self._home)!r} has no {row.script}.",
                hint="Give the root of a CleanRL checkout that has this script.",
            )
        interpreter = Interpreter.ask(
            self.python, (*CLEANRL_PACKAGES, *row.packages), self.environment(), "--cleanrl-python"
        )
        if not interpreter.versions["gymnasium"].startswith("0."):
            raise ConfigError(
                f"--cleanrl-python has gymnasium {interpreter.versions['gymnasium']}; CleanRL's "
                "scripts need 0.29: on 1.x they log no episode and learn from reset steps.",
                hint="docs/benchmarks/throughput.md names the versions.",
            )
        return replace(
            interpreter, versions={"CleanRL": self._revision(row), **interpreter.versions}
        )

    def _revision(self, row: Row) -> str:
        """Return the checkout's commit, and whether the script differs from it."""
        commit = _git(self._home, "rev-parse", "--short=8", "HEAD") or "no git checkout"
        is_modified = bool(_git(self._home, "status", "--porcelain", "--", row.script))
        return f"{commit} (script modified)" if is_modified else commit

    def environment(self) -> dict[str, str]:
        # Its scripts import cleanrl_utils from the checkout.
        return _environment(self._threads, PYTHONPATH=str(self._home))

    def command(self, task: Task) -> list[str]:
        return [str(self.python), str(self._home / task.row.script), *_flags(task, self._cuda)]

    def program(self, task: Task) -> list[str]:
        return ["script", str(self._home / task.row.script), *_flags(task, self._cuda)]


class Ours:
    """The worker as a user runs it, checkpoints and event stream included.

    `extras` are settings of the run beside those that both sides share, such as `cuda`.
    """

    python = Path(sys.executable)

    def __init__(self, threads: int = 1, name: str = "ours", **extras: Any) -> None:
        self._threads = threads
        self.name = name
        self._extras = {"cuda": False, **extras}

    def check(self, row: Row) -> Interpreter:
        packages = ("gymnasium", "numpy", "torch", "tensorboard", *row.packages)
        return Interpreter.ask(self.python, packages, self.environment(), "this Python")

    def environment(self) -> dict[str, str]:
        # Before what the caller added: packages may lie in a folder of their own.
        path = os.pathsep.join(filter(None, (str(SOURCE), os.environ.get("PYTHONPATH"))))
        return _environment(self._threads, PYTHONPATH=path)

    def command(self, task: Task) -> list[str]:
        config = {
            "run_id": f"{task.row.algo}-{task.seed}",
            "algo": task.row.algo,
            "env_id": task.row.env_id,
            "total_timesteps": task.steps,
            "seed": task.seed,
            "extras": {
                **self._extras,
                "save_model": False,
                "torch_threads": self._threads,
                "algo_params": dict(task.settings),
            },
        }
        file = task.folder / "config.json"
        file.write_text(json.dumps(config), encoding="utf-8")
        return [str(self.python), "-m", "cleanrl_worker.cli", "--config", str(file)]

    def program(self, task: Task) -> list[str]:
        cuda = bool(self._extras["cuda"])
        flags = [*_flags(task, cuda), "--no-save-model", f"--torch-threads={self._threads}"]
        return ["module", "cleanrl_worker.launcher", task.row.algo, *flags]


def record(side: Side, row: Row, steps: int, seed: int) -> Recording:
    """Train once, and read what the run left in its event files."""
    with tempfile.TemporaryDirectory() as folder:
        task = Task(row, steps, seed, row.settings, Path(folder))
        run(side.command(task), side.environment(), task.folder, f"{row.algo} of {side.name}")
        return read_recording(task.folder)


def run(command: list[str], environment: Mapping[str, str], folder: Path, what: str) -> None:
    """Run a command in the folder, its output to files there; a failure is told by its last lines.

    The output goes to files on both sides: a terminal's speed is not compared.
    """
    errors = folder / "stderr.txt"
    with (folder / "stdout.txt").open("wb") as out, errors.open("wb") as err:
        done = subprocess.run(command, env=environment, cwd=folder, stdout=out, stderr=err)
    if done.returncode:
        lines = errors.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        raise NotMeasured(
            f"{what} ended with exit code {done.returncode}: {' / '.join(lines[-LINES_SHOWN:])}"
        )


def _environment(threads: int, **variables: str) -> dict[str, str]:
    environment = {**os.environ, **dict.fromkeys(THREADS, str(threads)), **variables}
    environment.pop("MOSAIC_VAR_DIR", None)  # our run's files go to the task's folder
    if sys.platform == "linux" and "DISPLAY" not in environment:
        environment.setdefault("MUJOCO_GL", "egl")
    return environment


def _flags(task: Task, cuda: bool) -> list[str]:
    values = {
        "env_id": task.row.env_id,
        "total_timesteps": task.steps,
        "seed": task.seed,
        "cuda": cuda,
        **task.settings,
    }
    return [_flag(name.replace("_", "-"), value) for name, value in values.items()]


def _flag(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return f"--{name}" if value else f"--no-{name}"
    return f"--{name}={value}"


def _git(directory: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(
            ["git", "-C", str(directory), *arguments], capture_output=True, text=True
        )
    except FileNotFoundError:
        return ""
    return done.stdout.strip()
