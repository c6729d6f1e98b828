"""The page of an algorithm: its docstring, its parameters, what it logs, and what it reached."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from markdown_lines import table, value

from mosaic.contracts.metrics import CATALOGUE
from mosaic.contracts.parameters import Parameter
from mosaic.contracts.schema import AlgorithmSchema, TunedRow

ROOT = Path(__file__).resolve().parent.parent
MEASURED = ROOT / "docs/benchmarks"
LOGGED = Path(__file__).with_name("logged_metrics.json")

# What holds for all of them, said on the page that lists them.
EVERYWHERE = (
    "Names, defaults and tags are CleanRL's. Everywhere different are: a GPU is used where one is "
    "reserved; models are saved, and evaluated in ten greedy episodes, unless told otherwise; a "
    "truncated episode is bootstrapped; MuJoCo's environments are those of v5. What an algorithm "
    "has beyond that is on its page, and so are its metrics and what it was seen to reach."
)
_DIFFERENT = re.compile(r"(Changed|Dropped|Changed and dropped): ")
_LEAD = re.compile(r"^(Implemented|Changed|Dropped|Changed and dropped): (\w)")


def lines_of(algorithm: AlgorithmSchema) -> list[str]:
    """Return the page below its title and summary."""
    needs = ", ".join(f"`{name}`" for name in algorithm.extras) or "nothing beyond the base"
    return [
        f"Environments: {', '.join(algorithm.env_families)}. Needs: {needs}.",
        "",
        "```bash",
        f"mosaic train {algorithm.name} --env-id {_example(algorithm)} --local",
        "```",
        *_nature(algorithm),
        "",
        "## Hyperparameters",
        "",
        *_parameters(field for field in algorithm.fields if not field.runtime_only),
        "",
        "## Options of the run",
        "",
        "They change where and how a run is done, not what it learns.",
        "",
        *_parameters(field for field in algorithm.fields if field.runtime_only),
        *(line for row in algorithm.tuned for line in _tuned(algorithm, row)),
        *_metrics(algorithm),
        *_results(algorithm.name),
    ]


def _example(algorithm: AlgorithmSchema) -> str:
    return algorithm.tuned[0].env_id if algorithm.tuned else str(algorithm.default("env_id"))


def _nature(algorithm: AlgorithmSchema) -> list[str]:
    """Return what the module says of itself: what it is, and what it does differently."""
    title, *paragraphs = _docstring(algorithm.module).split("\n\n")
    parts = [part for text in paragraphs for part in re.split(r"\n(?=[A-Z][a-z ]+: )", text)]
    different = [_sentence(part) for part in parts if _DIFFERENT.match(part)]
    rest = [_sentence(part) for part in parts if not _DIFFERENT.match(part)]
    lines = ["", "## What it is", "", " ".join(title.split()), ""]
    lines += [line for part in rest for line in (part, "")]
    lines += [
        f"It reads from top to bottom in `{_path(algorithm.module)}`.",
        "",
        "## What differs from CleanRL",
        "",
    ]
    lines += [line for part in different for line in (part, "")]
    return [*lines, "What holds for all algorithms is on [their list](index.md)."]


def _docstring(module: str) -> str:
    return ast.get_docstring(ast.parse(_source(module))) or ""


def _source(module: str) -> str:
    return (ROOT / _path(module)).read_text(encoding="utf-8")


def _path(module: str) -> str:
    return f"src/{module.replace('.', '/')}.py"


def _sentence(paragraph: str) -> str:
    return _LEAD.sub(r"**\1**: \2", " ".join(paragraph.split()))


def _parameters(parameters: Iterable[Parameter]) -> list[str]:
    rows = [
        (f"`{each.flag}`", value(each.default), each.allowed(), each.help, each.group)
        for each in parameters
    ]
    return table(("flag", "default", "allowed", "meaning", "group"), rows)


def _tuned(algorithm: AlgorithmSchema, row: TunedRow) -> list[str]:
    values = [(f"`{name}`", value(given)) for name, given in row.values.items()]
    command = f"mosaic train {algorithm.name} --env-id {row.env_id} --tuned"
    return [
        "",
        f"## Tuned for {row.env_id}",
        "",
        f"Used with `{command}`. Source: {row.source}.",
        "",
        *table(("parameter", "value"), values),
    ]


def _metrics(algorithm: AlgorithmSchema) -> list[str]:
    """Return what a short run was seen to log, and what its module names beyond that."""
    seen = set(json.loads(LOGGED.read_text(encoding="utf-8")).get(algorithm.name, ()))
    named = set(re.findall(r'"(\w+/[\w/]+)"', _source(algorithm.module)))
    rows = [
        (f"`{tag}`", metric.help, metric.unit or "")
        for tag, metric in CATALOGUE.items()
        if tag in seen | named
    ]
    more = "A curriculum adds its stage, and evaluations have more tags of their own: "
    more += "see [metrics](../reference/metrics.md)."
    return ["", "## Metrics", "", more, "", *table(("tag", "meaning", "unit"), rows)]


@dataclass(frozen=True, slots=True)
class _Measured:
    """A table under docs/benchmarks that has rows of several algorithms."""

    page: str
    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]


def _results(name: str) -> list[str]:
    """Return the rows that tables of measurements have of an algorithm."""
    lines = ["", "## Results"]
    for found in _measured():
        place = found.headings.index("algorithm")
        own = [row for row in found.rows if row[place].strip("`") == name]
        if own:
            shown = [[cell for at, cell in enumerate(row) if at != place] for row in own]
            rest = [each for at, each in enumerate(found.headings) if at != place]
            told = f"{found.title}: [](../benchmarks/{found.page})"
            lines += ["", told, "", *table(rest, shown)]
    if len(lines) == 2:
        lines += ["", "No run of it to a published figure has been made yet."]
    return lines


def _measured() -> Iterator[_Measured]:
    for path in sorted(MEASURED.glob("*.md")):
        title = ""
        for block in re.split(r"\n{2,}", path.read_text(encoding="utf-8")):
            lines = block.strip().splitlines()
            if lines and lines[0].startswith("#"):
                title = lines[0].strip("# ")
            elif lines and lines[0].startswith("|"):
                headings, _, *rows = map(_cells, lines)
                if "algorithm" in headings:
                    yield _Measured(path.name, title, headings, rows)


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]
