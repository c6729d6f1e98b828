"""The training's end of W&B tracking: hands over what is logged, and never waits.

W&B itself lives in a process of its own (wandb_tracker). Between the two is a queue of limited
length and a thread that empties it: when W&B is slow, hangs or dies, points are left out, and that
is said.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from cleanrl_worker.wandb_tracker import FINISH_S
from mosaic.contracts.errors import DependencyMissing
from mosaic.contracts.installed import is_installed
from mosaic.contracts.metrics import find_metric
from mosaic.contracts.secrets import lost_login, mask_secrets, variable_of

_COMMAND = (sys.executable, "-P", "-m", "cleanrl_worker.wandb_tracker")
_QUEUE_ROWS = 20_000
_TOLD_LIMIT = 100
_STOP_S = 3.0  # of the grace that a run has when it is told to stop


def check_wandb(track: bool) -> None:
    """Refuse a run that is to be tracked where W&B is not installed."""
    if track and not is_installed("wandb"):
        raise DependencyMissing(
            "track_wandb=true needs W&B, which is not installed.",
            hint="Install 'mosaic-rl[wandb]', or leave track_wandb out.",
        )


def wandb_variables(options: Mapping[str, Any], base: Mapping[str, str]) -> dict[str, str]:
    """Return the environment variables of a tracked run; the key travels among the secrets."""
    if not options.get("track_wandb"):
        return {}
    # Set by the daemon where the key was lost with a restart.
    mode = "offline" if base.get("WANDB_MODE") == "offline" else options.get("wandb_mode")
    variables = {
        "TRACK_WANDB": "1",
        "WANDB_EMAIL": options.get("wandb_email"),
        "WANDB_NAME": options.get("wandb_run_name"),
        "WANDB_MODE": mode,
    }
    given = {name: str(value) for name, value in variables.items() if value}
    return {**given, **_proxies(options)}


def _proxies(options: Mapping[str, Any]) -> dict[str, str]:
    """Return W&B's proxies; one with a password is among the secrets already."""
    names = ("wandb_http_proxy", "wandb_https_proxy")
    if options.get("wandb_use_vpn_proxy") is False:
        return {variable_of(name): "" for name in names}
    chosen = {name: options.get(name) for name in names}
    return {
        variable_of(name): str(proxy)
        for name, proxy in chosen.items()
        if proxy and not lost_login(name, proxy)
    }


class WandbSink:
    """A metric sink. `say` is called, from the training's thread, with what there is to tell."""

    def __init__(
        self,
        directory: Path,
        *,
        project: str,
        entity: str | None,
        config: Mapping[str, Any],
        say: Callable[[str], None],
    ) -> None:
        self._say = say
        self.is_stopping: Callable[[], bool] = lambda: False
        self._notes: deque[str] = deque(maxlen=_TOLD_LIMIT)
        self._rows: queue.Queue[dict[str, Any] | None] = queue.Queue(_QUEUE_ROWS)
        self._left_out = 0
        self._has_finished = False
        self._is_closing = False
        about = {
            "dir": str(directory.absolute()),
            "id": os.environ.get("MOSAIC_RUN_ID"),
            "project": project,
            "entity": entity,
            "name": os.environ.get("WANDB_NAME"),
            "config": json.loads(json.dumps(dict(config), default=str)),
            "mode": os.environ.get("WANDB_MODE"),
        }
        self._process = subprocess.Popen(
            _COMMAND,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=directory,
            env=_tracker_environment(),
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        writing = (self._process.stdin, about)
        threading.Thread(target=self._write, args=writing, daemon=True).start()
        self._listener = threading.Thread(
            target=self._listen, args=(self._process.stdout,), daemon=True
        )
        self._listener.start()

    def scalars(self, step: int, values: Mapping[str, float]) -> None:
        metric = find_metric(next(iter(values), ""))
        axis = "global_step" if metric is None or metric.axis == "step" else metric.axis
        try:
            self._rows.put_nowait({axis: step, **values})
        except queue.Full:
            if self._left_out == 0:
                self._notes.append("W&B is behind: points are left out there.")
            self._left_out += 1
        self._tell()

    def flush(self) -> None:
        self._tell()

    def close(self) -> None:
        """Let W&B finish, for a limited time; the training is over by now."""
        self._is_closing = True
        try:
            self._rows.put_nowait(None)
        except queue.Full:  # it hangs
            self._process.kill()
        deadline = time.monotonic() + FINISH_S + 2
        while self._process.poll() is None and time.monotonic() < deadline:
            if self.is_stopping():
                deadline = min(deadline, time.monotonic() + _STOP_S)
            time.sleep(0.05)
        self._process.kill()
        self._process.wait()
        self._listener.join(1)
        with contextlib.suppress(queue.Full):
            self._rows.put(None, timeout=1)  # the end, also for a thread that stood before the pipe
        if not self._has_finished:
            self._notes.append(
                "W&B did not finish; what it has lies in wandb/, and 'wandb sync' sends it."
            )
        self._tell()

    def _tell(self) -> None:
        while self._notes:
            self._say(self._notes.popleft())

    def _write(self, pipe: IO[bytes], about: dict[str, Any]) -> None:
        try:
            row: dict[str, Any] | None = about
            while row is not None:
                pipe.write(json.dumps(row).encode() + b"\n")
                if self._rows.empty():
                    pipe.flush()
                row = self._rows.get()
            pipe.close()
        except OSError:
            # It has gone: whatever is logged from here on is nobody's.
            with contextlib.suppress(OSError):
                pipe.close()
            while self._rows.get() is not None:
                pass

    def _listen(self, pipe: IO[bytes]) -> None:
        with pipe:
            lines = iter(pipe.readline, b"")
            self._hear(lines)
        if not self._is_closing and not self._has_finished:
            self._has_finished = True
            self._notes.append("W&B ended by itself: the run goes on without it.")

    def _hear(self, lines: Iterator[bytes]) -> None:
        for line in lines:
            try:
                told = json.loads(line)
            except ValueError:
                continue
            if "note" in told:
                self._notes.append(mask_secrets(str(told["note"]), os.environ))
            if told.get("url"):
                self._notes.append(f"W&B: {told['url']}")
            self._has_finished = self._has_finished or bool(told.get("finished"))


def _tracker_environment() -> dict[str, str]:
    quiet = {"WANDB_SILENT": "true", "WANDB_CONSOLE": "off", "WANDB_ERROR_REPORTING": "false"}
    # A proxy that was switched off is an empty variable, which W&B would take for an address.
    kept = {name: text for name, text in os.environ.items() if text or not name.endswith("_PROXY")}
    return {**kept, **quiet}
