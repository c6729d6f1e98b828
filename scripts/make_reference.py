"""Write the reference pages that derive from code: run `python scripts/make_reference.py`.

A test holds the files equal to what this writes, so that a page is never behind the code.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from mosaic.contracts.metrics import CATALOGUE
from mosaic.contracts.parameters import Parameter
from mosaic.contracts.run_config import RunConfig
from mosaic.contracts.schema import AlgorithmSchema, TunedRow, load_schema
from mosaic.workers.discovery import discover_workers

DOCS = Path(__file__).resolve().parent.parent / "docs"

MADE = "<!-- Made by scripts/make_reference.py: change the code it derives from, then run it. -->"


def pages() -> dict[str, str]:
    """Return every derived page by its path under docs/."""
    algorithms = _algorithms()
    made = {
        "reference/run-config.schema.json": _run_config_schema(),
        "reference/metrics.md": _metrics(),
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
        *_table(("tag", "meaning", "unit", "axis"), rows),
    )


def _algorithm_index(algorithms: Sequence[AlgorithmSchema]) -> str:
    rows = [
        (f"[{each.name}]({each.name}.md)", each.summary, ", ".join(each.env_families))
        for each in algorithms
    ]
    tree = ["", "```{toctree}", ":hidden:", "", *(each.name for each in algorithms), "```"]
    lines = [*_table(("name", "summary", "environments"), rows), *tree]
    return _page("Algorithms", "`mosaic algos` prints the same list.", *lines)


def _algorithm(algorithm: AlgorithmSchema) -> str:
    needs = ", ".join(f"`{name}`" for name in algorithm.extras) or "nothing beyond the base"
    lines = [
        f"Environments: {', '.join(algorithm.env_families)}. Needs: {needs}.",
        "",
        "```bash",
        f"mosaic train {algorithm.name} --env-id {_example(algorithm)} --local",
        "```",
        "",
        "## Hyperparameters",
        "",
        *_parameter_table(field for field in algorithm.fields if not field.runtime_only),
        "",
        "## Options of the run",
        "",
        "They change where and how a run is done, not what it learns.",
        "",
        *_parameter_table(field for field in algorithm.fields if field.runtime_only),
    ]
    for row in algorithm.tuned:
        lines += _tuned(algorithm, row)
    return _page(algorithm.name, algorithm.summary, *lines)


def _example(algorithm: AlgorithmSchema) -> str:
    return algorithm.tuned[0].env_id if algorithm.tuned else str(algorithm.default("env_id"))


def _parameter_table(parameters: Iterable[Parameter]) -> list[str]:
    rows = [
        (f"`{each.flag}`", _value(each.default), each.allowed(), each.help, each.group)
        for each in parameters
    ]
    return _table(("flag", "default", "allowed", "meaning", "group"), rows)


def _tuned(algorithm: AlgorithmSchema, row: TunedRow) -> list[str]:
    values = [(f"`{name}`", _value(value)) for name, value in row.values.items()]
    command = f"mosaic train {algorithm.name} --env-id {row.env_id} --tuned"
    return [
        "",
        f"## Tuned for {row.env_id}",
        "",
        f"Used with `{command}`. Source: {row.source}.",
        "",
        *_table(("parameter", "value"), values),
    ]


def _value(value: Any) -> str:
    return "none" if value is None else f"`{json.dumps(value)}`"


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [_row(headings), _row(["---"] * len(headings))]
    return lines + [_row([cell.replace("|", "\\|") for cell in row]) for row in rows]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _page(title: str, introduction: str, *lines: str) -> str:
    return "\n".join([f"# {title}", "", MADE, "", introduction, "", *lines]) + "\n"


if __name__ == "__main__":
    sys.exit(main())
