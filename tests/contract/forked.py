"""Algorithm processes from a fork server that has torch loaded: real, and started in no time."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["tests.contract.preloaded"])
SECONDS = 110.0


def _main(directory: str, arguments: list[str]) -> None:
    from cleanrl_worker.launcher import main

    os.chdir(directory)
    with open("output.log", "w", buffering=1) as log:
        sys.stdout = sys.stderr = log
        code = main(arguments)
    os._exit(code)


class Launched:
    """One algorithm process, in a directory of its own."""

    def __init__(self, directory: Path, *arguments: str) -> None:
        directory.mkdir(parents=True)
        self.directory = directory
        self._process = _CONTEXT.Process(target=_main, args=(str(directory), list(arguments)))
        self._process.start()

    def wait(self) -> int:
        self._process.join(SECONDS)
        assert self._process.exitcode is not None, "still running"
        return self._process.exitcode

    def terminate(self) -> float:
        """Send SIGTERM; return the seconds until the process had ended."""
        assert self._process.pid is not None
        started = time.monotonic()
        os.kill(self._process.pid, signal.SIGTERM)
        self._process.join(SECONDS)
        return time.monotonic() - started

    @property
    def output(self) -> str:
        return (self.directory / "output.log").read_text()

    @property
    def home(self) -> Path:
        (home,) = self.directory.glob("runs/*")
        return home

    @property
    def weights(self) -> dict[str, torch.Tensor]:
        (path,) = self.home.glob("*.cleanrl_model")
        loaded: dict[str, torch.Tensor] = torch.load(path, weights_only=True)
        return loaded

    @property
    def checkpoints(self) -> list[Path]:
        paths = self.home.glob("checkpoints/step-*.ckpt")
        return sorted(paths, key=lambda path: int(path.stem.removeprefix("step-")))

    def rows(self) -> list[dict[str, Any]]:
        with contextlib.suppress(ValueError, FileNotFoundError):
            text = (self.home / "metrics.jsonl").read_text()
            return [json.loads(line) for line in text.splitlines()]
        return []

    def wait_until_it_trains(self) -> None:
        deadline = time.monotonic() + SECONDS
        while not self.rows():
            assert time.monotonic() < deadline, self.output
            time.sleep(0.05)


@contextlib.contextmanager
def launched(directory: Path, *arguments: str) -> Iterator[Launched]:
    process = Launched(directory, *arguments)
    try:
        yield process
    finally:
        process._process.kill()
        process._process.join()
