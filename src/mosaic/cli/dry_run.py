"""The dry run before a run: everything but the training, and what it found."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from typing import Any

from mosaic.cli.local_run import LocalRun, exit_code
from mosaic.contracts.errors import EXIT_OK


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


def summary_lines(summary: Mapping[str, Any]) -> list[str]:
    """Return what is worth knowing before a run: spaces, agent, device, cost, warnings."""
    env, agent = _part(summary, "env"), _part(summary, "agent")
    rows = {
        "environment": f"{env.get('id')} ({env.get('family')})",
        "observation": env.get("observation_space"),
        "action": env.get("action_space"),
        "agent": _agent(agent),
        "device": summary.get("device"),
        **_part(summary, "resources"),
    }
    lines = ["dry run passed"]
    lines += [f"  {name:<13}{_words(value)}" for name, value in rows.items() if value is not None]
    return lines + [f"  warning      {text}" for text in summary.get("warnings") or ()] + [""]


def _part(summary: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = summary.get(name)
    return part if isinstance(part, Mapping) else {}


def _agent(agent: Mapping[str, Any]) -> str | None:
    count, architecture = agent.get("parameters"), agent.get("architecture")
    if not isinstance(count, int):
        return None
    return f"{count:,} parameters" + (f", {architecture}" if architecture else "")


def _words(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
