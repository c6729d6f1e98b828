"""One run of a script: its directory, its variables, its phases, its end."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import FrameType
from typing import IO, Any

from mosaic.cli.local_run import exit_code
from mosaic.contracts.errors import EXIT_INTERRUPTED, EXIT_OK, EXIT_TERMINATED, ConfigError
from mosaic.contracts.files import write_json_whole
from mosaic.contracts.identifiers import check_run_id, new_run_id
from mosaic.contracts.paths import VarPaths
from mosaic.contracts.scripts import PHASE_MARK, Script

STATUS_FILE = "script.json"


class ScriptRun:
    """Run a script with `bash`; the first phase that fails ends it, with its cause."""

    def __init__(
        self,
        script: Script,
        paths: VarPaths,
        values: Mapping[str, Any],
        *,
        run_id: str | None = None,
        is_silent: bool = False,
    ) -> None:
        self._script = script
        self._run_id = check_run_id(run_id or new_run_id())
        self._paths = paths.run(self._run_id, "script")
        self._var = paths.root
        self._values = {
            "run_id": self._run_id,
            "script": str(script.path),
            "seed": values.get("seed"),
            "total_timesteps": values.get("total_timesteps") or script.total_timesteps,
        }
        self._is_silent = is_silent
        self._phases: list[dict[str, Any]] = []
        self._started_at = time.time()
        self._last_error = ""

    def run(self) -> int:
        root = self._paths.root
        if root.exists():
            raise ConfigError(f"run_id={self._run_id!r} is taken: {str(root)!r} exists.")
        self._paths.checkpoints.mkdir(parents=True)
        self._paths.stdout_log.parent.mkdir(parents=True, exist_ok=True)
        write_json_whole(self._config_file, self._values)
        self._save("running")
        code = self._execute()
        ended = {EXIT_OK: "completed", EXIT_INTERRUPTED: "cancelled", EXIT_TERMINATED: "cancelled"}
        status = ended.get(code, "failed")
        self._end_phase(status)
        document = self._save(status, code)
        self._report(document, status)
        return code

    @property
    def _config_file(self) -> Path:
        return self._paths.root / "config.json"

    def _execute(self) -> int:
        process = subprocess.Popen(
            ["bash", str(self._script.path)],
            cwd=self._paths.root,
            env=self._environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        with process, _group_ended_by_signals(process) as requests:
            assert process.stderr is not None
            assert process.stdout is not None
            errors = threading.Thread(target=self._read_errors, args=(process.stderr,), daemon=True)
            errors.start()
            self._read_output(process.stdout)
            code = exit_code(process.wait())
            errors.join()
        return requests[0] + 128 if requests else code

    def _environment(self) -> dict[str, str]:
        commands = str(Path(sys.executable).parent)
        return {
            **os.environ,
            "PATH": os.pathsep.join([commands, os.environ.get("PATH", "")]),
            "MOSAIC_VAR_DIR": str(self._var),
            "MOSAIC_CONFIG_FILE": str(self._config_file),
            "MOSAIC_RUN_ID": self._run_id,
            "MOSAIC_RUN_DIR": str(self._paths.root),
            "MOSAIC_CHECKPOINT_DIR": str(self._paths.checkpoints),
        }

    def _read_output(self, stream: IO[str]) -> None:
        with self._paths.stdout_log.open("a", encoding="utf-8") as log:
            for line in stream:
                log.write(line)
                log.flush()
                if line.startswith(PHASE_MARK):
                    self._begin_phase(line.removeprefix(PHASE_MARK).strip())
                elif not self._is_silent:
                    print(f"  {line.rstrip()}", flush=True)

    def _read_errors(self, stream: IO[str]) -> None:
        with self._paths.stderr_log.open("a", encoding="utf-8") as log:
            for line in stream:
                log.write(line)
                log.flush()
                if line.strip():
                    self._last_error = line.strip()

    def _begin_phase(self, name: str) -> None:
        self._end_phase("completed")
        self._phases.append({"name": name, "started_at": time.time(), "status": "running"})
        self._save("running")
        if not self._is_silent:
            total = max(len(self._script.phases), len(self._phases))
            print(f"phase {len(self._phases)} of {total}: {name}", flush=True)

    def _end_phase(self, status: str) -> None:
        if self._phases and self._phases[-1]["status"] == "running":
            self._phases[-1] |= {"status": status, "ended_at": time.time()}

    def _save(self, status: str, code: int | None = None) -> dict[str, Any]:
        document = {
            **self._values,
            "name": self._script.name,
            "planned_phases": list(self._script.phases),
            "phases": self._phases,
            "status": status,
            "return_code": code,
            "error": self._last_error if status == "failed" else None,
            "started_at": self._started_at,
            "updated_at": time.time(),
            "pid": os.getpid(),
            "run_dir": str(self._paths.root),
        }
        write_json_whole(self._paths.root / STATUS_FILE, document)
        return document

    def _report(self, document: Mapping[str, Any], status: str) -> None:
        if status == "failed":
            phase = self._phases[-1]["name"] if self._phases else "its beginning"
            cause = self._last_error.removeprefix("mosaic: ")
            cause = cause or f"exit code {document['return_code']}"
            print(f"mosaic: {self._script.name} stopped in {phase!r}: {cause}", file=sys.stderr)
        if self._is_silent:
            print(json.dumps(document))
        elif status != "failed":
            print(f"{self._script.name} {status}; its files: {self._paths.root}")


@contextlib.contextmanager
def _group_ended_by_signals(process: subprocess.Popen[str]) -> Iterator[list[int]]:
    """Pass Ctrl-C and SIGTERM on to all that the script has started; note the first."""
    requests: list[int] = []

    def stop(number: int, frame: FrameType | None) -> None:
        requests.append(number)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield requests
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
