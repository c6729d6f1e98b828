"""Write the pages of the environments into docs/: run `python scripts/make_environments.py`.

They are made of the texts in mosaic/catalog and the workers' schema; a test holds them equal.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from mosaic.catalog.environments import Environment, documented
from mosaic.catalog.families import FAMILIES, Family
from mosaic.catalog.page import environment_lines, family_lines, need_lines
from mosaic.contracts.schema import AlgorithmSchema, load_schema
from mosaic.workers.discovery import discover_workers

DOCS = Path(__file__).resolve().parent.parent / "docs"
MADE = "<!-- Made by scripts/make_environments.py: change mosaic/catalog/text, then run it. -->"
# Seen from a page.
_PREVIEWS = "../../src/mosaic/catalog/previews"


def pages() -> dict[str, str]:
    """Return every page by its path under docs/."""
    environments = list(documented().by_id.values())
    algorithms = _algorithms()
    made = {"environments/index.md": _index(environments)}
    for family in FAMILIES.values():
        own = [each for each in environments if each.family is family]
        made[f"environments/{family.name}.md"] = _family(family, own)
    for each in environments:
        made[f"environments/{_name(each)}.md"] = _environment(each, algorithms)
    return made


def main() -> int:
    made = pages()
    (DOCS / "environments").mkdir(exist_ok=True)
    for name, text in made.items():
        (DOCS / name).write_text(text, encoding="utf-8")
    for path in (DOCS / "environments").glob("*.md"):
        if f"environments/{path.name}" not in made:
            path.unlink()
    print(f"{len(made)} pages under {DOCS / 'environments'}")
    return 0


def _algorithms() -> list[AlgorithmSchema]:
    [worker] = [found for found in discover_workers() if found.name == "cleanrl"]
    assert worker.capabilities is not None, worker.reason
    return list(load_schema(worker.capabilities.schema).algorithms.values())


def _name(environment: Environment) -> str:
    assert environment.game is not None
    return environment.game.slug


def _index(environments: Sequence[Environment]) -> str:
    rows = [
        f"| [{family.title}]({family.name}.md) | {family.summary} "
        f"| {sum(each.family is family for each in environments)} |"
        for family in FAMILIES.values()
    ]
    return _page(
        "Environments",
        "`mosaic envs` prints the families, `mosaic envs FAMILY` every id that is installed, and "
        "`mosaic envs ID` what is known of one. The GUI's page Environments shows the same with "
        "pictures. An environment without a page here trains all the same.",
        "",
        "| family | about | pages |",
        "|---|---|---|",
        *rows,
        "",
        *_tree(FAMILIES),
    )


def _family(family: Family, environments: Sequence[Environment]) -> str:
    rows = []
    for each in environments:
        assert each.game is not None
        name = _name(each)
        rows.append(
            f"| ![]({_PREVIEWS}/{name}.webp) | [{each.title}]({name}.md)<br>`{each.id}` "
            f"| {each.game.goal} |"
        )
    return _page(
        family.title,
        *family_lines(family),
        "",
        "| | environment | goal |",
        "|---|---|---|",
        *rows,
        "",
        *_tree([_name(each) for each in environments]),
    )


def _environment(environment: Environment, algorithms: Sequence[AlgorithmSchema]) -> str:
    fitting = environment.fitting(algorithms)
    links = ", ".join(f"[{each.name}](../algorithms/{each.name}.md)" for each in fitting)
    command = [f"mosaic train {each.name} --env-id {environment.id}" for each in fitting[:1]]
    return _page(
        environment.title,
        f"![{environment.title}]({_PREVIEWS}/{_name(environment)}.webp)",
        "",
        f"`{environment.id}`, of the family [{environment.family.title}]"
        f"({environment.family.name}.md).",
        "",
        *environment_lines(environment),
        "",
        *need_lines(environment),
        "",
        f"**Algorithms that fit.** {links or 'None of this version.'}",
        *(["", "```bash", *command, "```"] if command else ()),
    )


def _tree(names: Iterable[str]) -> list[str]:
    return ["```{toctree}", ":hidden:", "", *names, "```"]


def _page(title: str, *lines: str) -> str:
    return "\n".join([f"# {title}", "", MADE, "", *lines]) + "\n"


if __name__ == "__main__":
    sys.exit(main())
