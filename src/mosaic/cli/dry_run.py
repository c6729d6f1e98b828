"""The dry run before a run: everything but the training, and what it found."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from typing import Any

from mosaic.cli.local_run import LocalRun, exit_code
from mosaic.contracts.errors import EXIT_OK

_COSTS = ("memory_mb", "disk_mb")


def dry_run(command: list[str], environment: Mapping[str, str]) -> tuple[LocalRun, dict[str, Any]]:
    """Run the worker's dry run; return how it ended, and its summary where it passed."""
    done = subprocess.run(
        [*command, "--dry-run", "--emit-summary"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=False,
    )
    run = LocalRun(exit_code(done.returncode), stderr=done.stderr.splitlines())
    summary = json.loads(done.stdout) if run.return_code == EXIT_OK else {}
    return run, summary


def summary_lines(summary: Mapping[str, Any], width: int | None = None) -> list[str]:
    """Return what is worth knowing before a run: spaces, agent, device, cost, warnings."""
    env, resources = _part(summary, "env"), _part(summary, "resources")
    rows = [
        ("environment", f"{env.get('id')} ({env.get('family')})"),
        ("observation", _words(env.get("observation_space"))),
        ("action", _words(env.get("action_space"))),
        ("agent", _agent(_part(summary, "agent"))),
        ("device", _words(summary.get("device"))),
        *(
            (name.removesuffix("_mb"), f"{resources[name]} MB")
            for name in _COSTS
            if name in resources
        ),
        *(("warning", str(text)) for text in summary.get("warnings") or ()),
    ]
    width = width or shutil.get_terminal_size().columns
    lines = [f"  {label:<13}{' '.join(text.split())}" for label, text in rows if text]
    return ["dry run passed", *(line[:width] for line in lines), ""]


def _part(summary: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = summary.get(name)
    return part if isinstance(part, Mapping) else {}


def _agent(agent: Mapping[str, Any]) -> str:
    count, architecture = agent.get("parameters"), agent.get("architecture")
    if not isinstance(count, int):
        return ""
    return f"{count:,} parameters" + (f", {architecture}" if architecture else "")


def _words(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value)
