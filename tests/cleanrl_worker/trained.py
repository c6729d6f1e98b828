"""Policies that were trained for a moment, by the real launcher in this process."""

from __future__ import annotations

import contextlib
import io
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cleanrl_worker import evaluator, launcher


@dataclass(frozen=True)
class Trained:
    """What a run left: the model, and the checkpoint of its end."""

    algo: str
    model: Path
    checkpoint: Path

    def policy(self, kind: str) -> Path:
        return self.model if kind == "model" else self.checkpoint

    @property
    def home(self) -> Path:
        return self.model.parent


def train(directory: Path, algo: str, *flags: str) -> Trained:
    directory.mkdir()
    with as_a_process(directory):
        assert launcher.main([algo, "--tensorboard-dir=None", *flags]) == 0
    (model,) = directory.glob("runs/*/*.cleanrl_model")
    (checkpoint,) = directory.glob("runs/*/checkpoints/*.ckpt")
    return Trained(algo, model, checkpoint)


def run_evaluator(directory: Path, *arguments: str) -> tuple[int, str]:
    """Run the evaluation process's main function, and return its exit code and its stderr."""
    stderr = io.StringIO()
    with as_a_process(directory), contextlib.redirect_stderr(stderr):
        code = evaluator.main(arguments)
    return code, stderr.getvalue()


@contextlib.contextmanager
def as_a_process(directory: Path) -> Iterator[None]:
    """Let `main` have a working directory, and give back the signals that it handles."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    with contextlib.chdir(directory), contextlib.redirect_stdout(io.StringIO()):
        yield
    for number, handler in before.items():
        signal.signal(number, handler)
