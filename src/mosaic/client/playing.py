"""A worker process in which an environment is stepped, one command at a time."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import Any, Self

from mosaic.contracts.errors import (
    EXIT_DEPENDENCY,
    ConfigError,
    DependencyMissing,
    MosaicError,
)

_STOP_S = 3.0
_LAST_WORDS = 20  # lines of stderr

Message = dict[str, Any]


class PlayFault(MosaicError):
    """The process that plays has gone, or refused what it was to play."""


class PlayProcess:
    """`cleanrl-worker --interactive`, started and spoken to. Threads may share it.

    The process ends when its stdin does, so that it outlives neither us nor a kill.
    """

    def __init__(self, module: str, flags: Sequence[str]) -> None:
        self._lock = threading.Lock()
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, *flags],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            # Ctrl-C in a terminal is for whoever plays, not for the environment.
            start_new_session=True,
        )
        self._said: list[str] = []
        self._reader = threading.Thread(target=self._read_stderr, daemon=True)
        self._reader.start()
        self.init: Message = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> Message:
        """Wait until the environment and the policy stand."""
        with self._lock:
            self.init = self._read()
        if self.init["type"] == "error":
            self.close()
            is_missing = self._process.returncode == EXIT_DEPENDENCY
            raise (DependencyMissing if is_missing else PlayFault)(str(self.init["message"]))
        return self.init

    def reset(self, seed: int | None = None) -> Message:
        """Begin an episode, and return what `ready` says."""
        command: Message = {"cmd": "reset"} | ({} if seed is None else {"seed": seed})
        return self._ask(command)[0]

    def step(self, action: Any = None) -> tuple[Message, Message | None]:
        """Take a step, with the policy's action where none is given; the end of an episode too."""
        command: Message = {"cmd": "step"} | ({} if action is None else {"action": action})
        step, *rest = self._ask(command)
        return step, rest[0] if rest else None

    def _ask(self, command: Message) -> list[Message]:
        with self._lock:
            assert self._process.stdin is not None
            try:
                self._process.stdin.write(json.dumps(command) + "\n")
                self._process.stdin.flush()
            except (OSError, ValueError):
                raise self._gone() from None
            answers = [self._read()]
            if answers[0].get("terminated") or answers[0].get("truncated"):
                answers.append(self._read())
        if answers[0]["type"] == "error":
            raise ConfigError(str(answers[0]["message"]))
        return answers

    def _read(self) -> Message:
        assert self._process.stdout is not None
        try:
            line = self._process.stdout.readline()
        except ValueError:
            line = ""
        if not line:
            raise self._gone()
        message: Message = json.loads(line)
        return message

    def _gone(self) -> PlayFault:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_STOP_S)
        self._reader.join(_STOP_S)
        last = self._said[-1] if self._said else f"exit code {self._process.returncode}"
        return PlayFault(f"The process that plays has ended: {last}")

    def _read_stderr(self) -> None:
        assert self._process.stderr is not None
        with contextlib.suppress(ValueError, OSError):
            for line in self._process.stderr:
                self._said.append(line.rstrip())
                del self._said[:-_LAST_WORDS]

    def close(self) -> None:
        """End the process; one that does not listen is killed."""
        process = self._process
        assert process.stdin is not None
        with contextlib.suppress(OSError, ValueError):
            process.stdin.close()
        try:
            process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        self._reader.join(_STOP_S)
        for ended in (process.stdout, process.stderr):
            if ended is not None:
                ended.close()
