"""Write the reference pages that derive from code: run `python scripts/make_reference.py`.

A test holds the files equal to what this writes, so that a page is never behind the code.
"""

from __future__ import annotations

import dataclasses
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from algorithm_page import EVERYWHERE, lines_of
from markdown_lines import table, value

from mosaic.contracts.capabilities import WorkerCapabilities
from mosaic.contracts.errors import BORDERS
from mosaic.contracts.extras import RESERVED
from mosaic.contracts.manifest import Manifest
from mosaic.contracts.metrics import CATALOGUE
from mosaic.contracts.run_config import RunConfig
from mosaic.contracts.schema import AlgorithmSchema, load_schema
from mosaic.contracts.states import MOVES, Outcome, RunState
from mosaic.workers.discovery import discover_workers

ROOT = Path(__file__).resolve().parent.parent
DOCS, SOURCE = ROOT / "docs", ROOT / "src"

MADE = "<!-- Made by scripts/make_reference.py: change the code it derives from, then run it. -->"


def pages() -> dict[str, str]:
    """Return every derived page by its path under docs/."""
    algorithms = _algorithms()
    made = {
        "reference/run-config.schema.json": _run_config_schema(),
        "reference/metrics.md": _metrics(),
        "reference/protocol.md": _protocol(),
        "algorithms/index.md": _algorithm_index(algorithms),
    }
    return made | {f"algorithms/{each.name}.md": _algorithm(each) for each in algorithms}


def main() -> int:
    made = pages()
    for name, text in made.items():
        path = DOCS / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for path in (DOCS / "algorithms").glob("*.md"):
        if f"algorithms/{path.name}" not in made:
            path.unlink()
    print(f"{len(made)} files under {DOCS}")
    return 0


def _algorithms() -> list[AlgorithmSchema]:
    """Return the algorithms of our own worker; others bring their own pages."""
    [worker] = [found for found in discover_workers() if found.name == "cleanrl"]
    assert worker.capabilities is not None, worker.reason
    return list(load_schema(worker.capabilities.schema).algorithms.values())


def _run_config_schema() -> str:
    return json.dumps(RunConfig.model_json_schema(), indent=2, ensure_ascii=False) + "\n"


def _metrics() -> str:
    rows = [
        (f"`{metric.tag}`", metric.help, metric.unit or "", metric.axis)
        for metric in CATALOGUE.values()
    ]
    return _page(
        "Metrics",
        "Every tag that a run may log, in TensorBoard, in `metrics.jsonl` and in the `metric` "
        "events. The names are CleanRL's. One tag of several players ends in `-player0`, "
        "`-player1`, and so on.",
        *table(("tag", "meaning", "unit", "axis"), rows),
    )


def _protocol() -> str:
    source = (SOURCE / "mosaic/proto/trainer.proto").read_text(encoding="utf-8")
    package = re.findall(r"^package (\S+);", source, re.MULTILINE)[0]
    return _page(
        "Protocol",
        "What crosses a process border, derived from the models. JSON documents: the "
        "[run config](run-config.md) and its [schema](run-config.schema.json), "
        "[events](events.md), [telemetry](telemetry.md), and the manifest below.",
        "## States of a run",
        "",
        *table(("state", "may become"), _states()),
        "",
        f"Outcomes: {', '.join(f'`{each}`' for each in Outcome)}.",
        "",
        "## Errors",
        "",
        *table(("code", "exit code", "gRPC status"), _borders()),
        "",
        "## Keys of extras",
        "",
        *table(("key", "type", "default", "meaning"), _extras()),
        "",
        "## Capabilities of a worker",
        "",
        *table(("field", "type"), _fields(WorkerCapabilities)),
        "",
        "## The manifest",
        "",
        *table(("field", "type"), _fields(Manifest)),
        "",
        f"## gRPC: `{package}`",
        "",
        "Every call carries a token in its metadata: the daemon's for users, the run's own for its "
        "worker. Times are unix seconds.",
        *_calls(source),
        *_messages(source),
    )


def _states() -> list[tuple[str, str]]:
    return [
        (f"`{state}`", ", ".join(f"`{each}`" for each in sorted(MOVES.get(state, ()))) or "-")
        for state in RunState
    ]


def _borders() -> list[tuple[str, str, str]]:
    return [
        (f"`{code}`", str(border.exit_code), f"`{border.grpc_status}`")
        for code, border in BORDERS.items()
    ]


def _extras() -> list[tuple[str, str, str, str]]:
    rows = []
    for key in RESERVED.values():
        kind = key.type + (f": {', '.join(map(str, key.choices))}" if key.choices else "")
        rows.append((f"`{key.name}`", kind, value(key.default), key.help))
    return rows


def _fields(model: Any, prefix: str = "") -> list[tuple[str, str]]:
    """Return the fields of a model, those of the models inside it under a longer name."""
    rows = []
    for each in dataclasses.fields(model):
        part = type(each.default)
        if dataclasses.is_dataclass(part):
            rows += _fields(part, f"{prefix}{each.name}.")
        else:
            rows.append((f"`{prefix}{each.name}`", f"`{each.type}`"))
    return rows


def _calls(source: str) -> list[str]:
    """Return a table for each group of calls, under the comment that names the group."""
    body = re.findall(r"^service \w+ \{\n(.*?)^\}", source, re.DOTALL | re.MULTILINE)[0]
    lines: list[str] = []
    for group in re.split(r"^  // ", body, flags=re.MULTILINE)[1:]:
        title, _, calls = group.partition("\n")
        found = re.findall(r"rpc (\w+)\((.*?)\) returns \((.*?)\);", calls)
        rows = [(f"`{name}`", f"`{request}`", f"`{answer}`") for name, request, answer in found]
        lines += ["", f"### {title}", "", *table(("call", "request", "answer"), rows)]
    return lines


def _messages(source: str) -> list[str]:
    lines = ["", "### Messages"]
    messages = re.findall(r"^message (\w+) \{(?:\}|\n(.*?)^\})", source, re.DOTALL | re.MULTILINE)
    for name, body in messages:
        fields = re.findall(r"^ +([\w<>, .]+?) (\w+) = \d+;(?: *// *(.*))?$", body, re.MULTILINE)
        rows = [(f"`{field}`", f"`{kind}`", comment) for kind, field, comment in fields]
        lines += ["", f"#### {name}", ""]
        lines += table(("field", "type", "meaning"), rows) if rows else ["No fields."]
    return lines


def _algorithm_index(algorithms: Sequence[AlgorithmSchema]) -> str:
    rows = [
        (f"[{each.name}]({each.name}.md)", each.summary, ", ".join(each.env_families))
        for each in algorithms
    ]
    tree = ["", "```{toctree}", ":hidden:", "", *(each.name for each in algorithms), "```"]
    lines = [*table(("name", "summary", "environments"), rows), *tree]
    return _page("Algorithms", f"`mosaic algos` prints the same list. {EVERYWHERE}", *lines)


def _algorithm(algorithm: AlgorithmSchema) -> str:
    return _page(algorithm.name, algorithm.summary, *lines_of(algorithm))


def _page(title: str, introduction: str, *lines: str) -> str:
    return "\n".join([f"# {title}", "", MADE, "", introduction, "", *lines]) + "\n"


if __name__ == "__main__":
    sys.exit(main())
