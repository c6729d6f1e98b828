"""Running workers of one process for the tests: a config in, lines of events out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Ran:
    code: int
    lines: list[dict[str, Any]]
    stderr: str

    def events(self, name: str) -> list[dict[str, Any]]:
        return [line["payload"] for line in self.lines if line.get("event") == name]

    def told(self, kind: str) -> list[dict[str, Any]]:
        return [line for line in self.lines if line.get("type") == kind]


class Bench:
    """A data directory of its own, in which one worker is run again and again."""

    def __init__(self, module: str, root: Path) -> None:
        self.module = module
        self.root = root

    @property
    def variables(self) -> dict[str, str]:
        return {**os.environ, "MOSAIC_VAR_DIR": str(self.root / "var"), "OMP_NUM_THREADS": "1"}

    def config(self, run_id: str, **fields: Any) -> Path:
        path = self.root / f"{run_id}.json"
        path.write_text(json.dumps({"run_id": run_id, **fields}))
        return path

    def command(self, path: Path, *flags: str) -> list[str]:
        return [sys.executable, "-m", self.module, "--config", str(path), *flags]

    def run(self, run_id: str, *flags: str, **fields: Any) -> Ran:
        path = self.config(run_id, **fields)
        done = subprocess.run(
            self.command(path, *flags),
            env=self.variables,
            capture_output=True,
            text=True,
            timeout=110,
            cwd=self.root,
        )
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        return Ran(done.returncode, lines, done.stderr)

    def run_dir(self, run_id: str, folder: str = "runs") -> Path:
        return self.root / "var" / "trainer" / folder / run_id

    def manifest(self, run_id: str, folder: str = "runs") -> dict[str, Any]:
        return dict(json.loads((self.run_dir(run_id, folder) / "analytics.json").read_text()))
