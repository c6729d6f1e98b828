"""`mosaic show`: everything about one run."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mosaic.cli.arguments import Parser
from mosaic.cli.columns import output_width
from mosaic.cli.differences import print_differences
from mosaic.cli.formatting import (
    format_age,
    format_count,
    format_duration,
    format_moment,
    format_score,
    short_path,
)
from mosaic.cli.run_view import has_ended, label, reason, run_json, state_word, steps
from mosaic.client.connecting import connect
from mosaic.contracts.errors import EXIT_OK
from mosaic.contracts.paths import VarPaths
from mosaic.contracts.worker_config import extract_worker_config

if TYPE_CHECKING:
    from mosaic.proto.trainer_pb2 import Run, RunDetails

_LABEL_WIDTH = 13


def run(words: Sequence[str]) -> int:
    parser = Parser(prog="mosaic show", description="Show everything about one run.")
    parser.add_argument("run", metavar="RUN", help="a run, by any unambiguous prefix")
    parser.add_argument("--config", action="store_true", help="print its run config alone")
    parser.add_argument("--against", metavar="RUN", help="where it differs from another run")
    parser.add_argument("--json", action="store_true", help="print JSON, its events as well")
    given = parser.parse(words)
    with connect(VarPaths.default()) as client:
        details = client.get_run(given.run, with_events=given.json)
        other = client.get_run(given.against) if given.against else None
    if other is not None:
        print_differences(details, other, as_json=given.json)
    elif given.config:
        print(json.dumps(_object(details.config_json), indent=2))
    elif given.json:
        print(json.dumps(details_json(details)))
    else:
        print("\n".join(lines(details, output_width())))
    return EXIT_OK


def details_json(details: RunDetails) -> dict[str, Any]:
    return run_json(details.run) | {
        "run_dir": details.run_dir,
        "config": _object(details.config_json),
        "manifest": _object(details.manifest_json) or None,
        "reserved": _object(details.reserved_json) or None,
        "last_lines": list(details.last_lines),
        "garbage_lines": details.garbage_lines,
        "events": [json.loads(line) for line in details.event_lines],
    }


def lines(details: RunDetails, width: int) -> list[str]:
    """Return the block; a path is never cut, it is there to copy."""
    run = details.run
    rows = [
        ("run", run.run_id),
        ("name", run.name),
        ("state", _state(run)),
        ("seed", str(run.seed) if run.HasField("seed") else ""),
        ("mode", run.mode if run.mode != "train" else ""),
        ("continues", run.parent_run_id),
        ("steps", steps(run)),
        ("return", format_score(run.last_return) if run.HasField("last_return") else ""),
        ("steps/s", format_count(run.steps_per_second) if run.steps_per_second else ""),
        ("created", _moment(run.created_at)),
        ("started", _moment(run.started_at) if run.HasField("started_at") else ""),
        ("ended", _ended(run)),
        ("reserved", _reserved(_object(details.reserved_json))),
        ("changed", _hyperparameters(_object(details.config_json))),
        (
            "garbage",
            f"{details.garbage_lines} lines that are no events" * bool(details.garbage_lines),
        ),
        ("files", short_path(Path(details.run_dir)) if details.run_dir else ""),
    ]
    shown = [f"  {name:<{_LABEL_WIDTH}}{text}" for name, text in rows if text]
    last = [f"  | {line}" for line in details.last_lines]
    return [label(run), "", *shown, *(["", *last] if last else [])]


def _state(run: Run) -> str:
    return f"{state_word(run)}: {reason(run)}" if reason(run) else state_word(run)


def _moment(unix_s: float) -> str:
    return f"{format_moment(unix_s)}, {format_age(time.time() - unix_s)} ago"


def _ended(run: Run) -> str:
    if not has_ended(run) or not run.HasField("ended_at"):
        return ""
    began = run.started_at if run.HasField("started_at") else run.created_at
    took = format_duration(max(0.0, run.ended_at - began))
    return f"{format_moment(run.ended_at)}, after {took}"


def _reserved(reserved: Mapping[str, Any]) -> str:
    if not reserved:
        return ""
    gpus = reserved.get("gpus") or []
    cpus = reserved.get("cpus")
    parts = [f"{cpus} CPU{'' if cpus == 1 else 's'}", f"{reserved.get('memory_mb')} MB"]
    return ", ".join([*parts, f"GPU {', '.join(map(str, gpus))}"] if gpus else parts)


def _hyperparameters(config: Mapping[str, Any]) -> str:
    """Return the hyperparameters that were given; the others are the algorithm's defaults."""
    extras = extract_worker_config(config).get("extras") if config else None
    params = extras.get("algo_params") if isinstance(extras, Mapping) else None
    return ", ".join(f"{name} {value}" for name, value in (params or {}).items())


def _object(text: str) -> dict[str, Any]:
    document = json.loads(text) if text else {}
    return document if isinstance(document, dict) else {}
