"""What a Python interpreter has: its packages' versions, and the threads torch takes in it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from mosaic.contracts.errors import ConfigError, DependencyMissing

# Prints the versions (null: not installed) and torch's thread count; runs on any Python 3.8+.
_QUESTION = """
import json, platform, sys
from importlib.metadata import PackageNotFoundError, version
def find(name):
    try: return version(name)
    except PackageNotFoundError: return None
found = {name: find(name) for name in sys.argv[1:]}
threads = None
if found.get("torch"):
    import torch
    threads = torch.get_num_threads()
print(json.dumps({"versions": {"python": platform.python_version(), **found}, "threads": threads}))
"""


@cache
def _answer(
    python: Path, packages: tuple[str, ...], environment: tuple[tuple[str, str], ...]
) -> subprocess.CompletedProcess[str]:
    """Ask once: torch takes seconds to import, and many rows ask for the same packages."""
    command = [str(python), "-c", _QUESTION, *packages]
    return subprocess.run(command, env=dict(environment), capture_output=True, text=True)


@dataclass(frozen=True, slots=True)
class Interpreter:
    """An interpreter that has every package that was asked for."""

    versions: Mapping[str, str]
    torch_threads: int

    @classmethod
    def ask(
        cls, python: Path, packages: Sequence[str], environment: Mapping[str, str], owner: str
    ) -> Interpreter:
        """Start the interpreter in the environment of the runs, and ask it."""
        try:
            done = _answer(python, tuple(packages), tuple(environment.items()))
        except OSError as error:
            raise ConfigError(f"{owner}={str(python)!r} cannot be run: {error.strerror}.") from None
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            raise ConfigError(f"{owner}={str(python)!r} is not a working Python: {last}")
        answer = json.loads(done.stdout)
        missing = [name for name, found in answer["versions"].items() if found is None]
        if missing:
            raise DependencyMissing(
                f"{owner} ({python}) lacks {', '.join(missing)}.",
                hint="docs/benchmarks/throughput.md names what each side needs.",
            )
        return cls(answer["versions"], answer["threads"])
