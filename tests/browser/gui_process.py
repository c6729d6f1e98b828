"""A GUI for the tests: a process of its own in a data directory of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.parse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext

from mosaic.contracts.paths import VarPaths

TIMEOUT_S = 60.0
# Two runs at once are enough, whatever the machine has.
SETTINGS = "[trainer]\nport = 0\ncpus = 2\nmemory_mb = 4096\nstop_grace_s = 5\n"


@dataclass
class GuiProcess:
    """One GUI, and the daemon that it starts."""

    var: Path
    process: subprocess.Popen[str]
    link: str
    _session: Any = None

    @classmethod
    def start(cls, var: Path, port: int = 0) -> GuiProcess:
        var.mkdir(parents=True, exist_ok=True)
        settings = VarPaths(var).settings
        if not settings.exists():
            settings.write_text(SETTINGS)
        process = subprocess.Popen(
            [sys.executable, "-m", "gym_gui", "--no-browser", "--port", str(port)],
            env=_environment(var),
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        return cls(var, process, process.stdout.readline().strip())

    @property
    def base(self) -> str:
        return self.link.partition("/login")[0]

    @property
    def paths(self) -> VarPaths:
        return VarPaths(self.var)

    def end(self, how: signal.Signals = signal.SIGTERM) -> None:
        self.process.send_signal(how)
        self.process.wait(30)
        assert self.process.stdout is not None
        self.process.stdout.close()

    def restart(self) -> None:
        """Start it again under the same address, as somebody would whose GUI has died."""
        again = GuiProcess.start(self.var, int(self.base.rpartition(":")[2]))
        self.process, self.link = again.process, again.link

    def mosaic(self, *words: str) -> str:
        """Run a command of ours against the same data, and return what it printed."""
        done = subprocess.run(
            [sys.executable, "-m", "mosaic.cli", *words],
            env=_environment(self.var),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def kill_daemon(self) -> None:
        os.kill(json.loads(self.paths.daemon_info.read_text())["pid"], signal.SIGKILL)

    def log_in(self, browser: Browser, **options: Any) -> BrowserContext:
        """Return a browser of a person who has opened a link; sessions outlive a restart."""
        context = browser.new_context(storage_state=self._session, **options)
        context.set_default_timeout(TIMEOUT_S * 1000)
        if self._session is None:
            link = self.mosaic("gui", "--link").strip()
            token = urllib.parse.parse_qs(urllib.parse.urlsplit(link).query)["token"][0]
            answer = context.request.post(
                f"{self.base}/login", form={"token": token}, headers={"Origin": self.base}
            )
            assert answer.ok
            self._session = context.storage_state()
        return context


def wait_until(is_so: Callable[[], object], what: str, timeout_s: float = TIMEOUT_S) -> None:
    end = time.monotonic() + timeout_s
    while not is_so():
        assert time.monotonic() < end, f"not within {timeout_s:g} s: {what}"
        time.sleep(0.1)


def _environment(var: Path) -> dict[str, str]:
    return {**os.environ, "MOSAIC_VAR_DIR": str(var), "OMP_NUM_THREADS": "1"}
