"""`mosaic daemon`: start, stop and look at the trainer daemon of this data directory."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mosaic.cli.arguments import Parser
from mosaic.cli.formatting import format_duration
from mosaic.client.connecting import connect
from mosaic.client.locating import has_daemon
from mosaic.client.starting import daemon_command, daemon_environment, no_daemon, stop_daemon
from mosaic.contracts.errors import EXIT_OK, ConfigError, DaemonUnreachable
from mosaic.contracts.paths import VarPaths

if TYPE_CHECKING:
    from mosaic.proto.trainer_pb2 import Health

_LABEL_WIDTH = 13
_GB = 1e9

_PLAIN = (
    *("version", "pid", "uptime_s", "var_dir", "target", "total_cpus", "free_cpus"),
    *("total_memory_mb", "free_memory_mb", "queued", "rss_mb", "store_bytes", "disk_free_bytes"),
)


def run(words: Sequence[str]) -> int:
    parser = Parser(
        prog="mosaic daemon",
        description="The trainer daemon of this data directory; commands start it on demand.",
    )
    parser.add_argument("action", choices=("start", "stop", "status"), help="what to do")
    parser.add_argument(
        "--foreground", action="store_true", help="start: stay in this terminal, as this process"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse(words)
    if given.foreground and given.action != "start":
        raise ConfigError("daemon: --foreground belongs to 'start'.")
    paths = VarPaths.default()
    if given.foreground:
        _become_daemon(paths)
    return {"start": _start, "stop": _stop, "status": _status}[given.action](
        paths, as_json=given.json
    )


def _become_daemon(paths: VarPaths) -> None:
    """Replace this process by the daemon, for whoever keeps it running: systemd, a container."""
    command = daemon_command()
    sys.stdout.flush()
    os.execve(command[0], command, daemon_environment(paths))


def _start(paths: VarPaths, *, as_json: bool) -> int:
    was_there = has_daemon(paths)
    with connect(paths) as client:
        health = client.health()
    if as_json:
        print(json.dumps(health_json(health) | {"started": not was_there}))
    else:
        word = "runs already" if was_there else "started"
        print(f"The daemon {word}: pid {health.pid}, {health.target}, data in {health.var_dir}.")
    return EXIT_OK


def _stop(paths: VarPaths, *, as_json: bool) -> int:
    unfinished = _unfinished(paths)
    pid = stop_daemon(paths)
    if as_json:
        print(json.dumps({"stopped": pid is not None, "pid": pid, "unfinished": unfinished}))
    elif pid is None:
        print(f"No daemon runs for {paths.root}.")
    else:
        print(f"The daemon (pid {pid}) has ended.")
        if unfinished:
            print(
                f"Unfinished runs: {unfinished}. Those that train go on; the next daemon follows."
            )
    return EXIT_OK


def _unfinished(paths: VarPaths) -> int:
    """Return how many runs the daemon leaves; 0 where it does not say."""
    try:
        with connect(paths, start=False) as client:
            return int(client.list_runs(only_unfinished=True, page_size=1).total_count)
    except DaemonUnreachable:
        return 0


def _status(paths: VarPaths, *, as_json: bool) -> int:
    try:
        with connect(paths, start=False) as client:
            health = client.health()
    except DaemonUnreachable as error:
        if not as_json:
            raise
        print(json.dumps({"running": False, "var_dir": str(paths.root), "error": error.message}))
        return no_daemon(paths).exit_code
    print(json.dumps(health_json(health)) if as_json else "\n".join(health_lines(health)))
    return EXIT_OK


def health_json(health: Health) -> dict[str, Any]:
    gpus = [
        {"index": gpu.index, "name": gpu.name, "memory_mb": gpu.memory_mb, "run_id": gpu.run_id}
        for gpu in health.gpus
    ]
    return {
        "running": True,
        **{name: getattr(health, name) for name in _PLAIN},
        "runs_by_state": dict(health.runs_by_state),
        "gpus": gpus,
        "warnings": list(health.warnings),
    }


def health_lines(health: Health) -> list[str]:
    held = sum(bool(gpu.run_id) for gpu in health.gpus)
    by_state = sorted(health.runs_by_state.items())
    rows = [
        ("daemon", f"pid {health.pid}, version {health.version}, {health.target}"),
        ("up for", format_duration(health.uptime_s)),
        ("data", health.var_dir),
        (
            "runs",
            ", ".join(f"{count} {state.lower()}" for state, count in by_state if count) or "none",
        ),
        ("waiting", str(health.queued)),
        ("CPUs", f"{health.free_cpus} of {health.total_cpus} free"),
        ("memory", f"{health.free_memory_mb} of {health.total_memory_mb} MB free"),
        (
            "GPUs",
            f"{len(health.gpus) - held} of {len(health.gpus)} free" if health.gpus else "none",
        ),
        ("disk", f"{health.disk_free_bytes / _GB:.1f} GB free"),
        ("store", f"{health.store_bytes / 1e6:.1f} MB"),
        *(("warning", text) for text in health.warnings),
    ]
    return [f"{name:<{_LABEL_WIDTH}}{text}" for name, text in rows]
