"""`mosaic envs`: the families of environments, those of one family, or everything about one."""

from __future__ import annotations

import json
import shutil
import textwrap
from collections.abc import Sequence
from typing import Any

from mosaic.catalog.environments import Environment, Environments
from mosaic.catalog.families import FAMILIES, Family
from mosaic.catalog.listing import describe_environment, list_environments
from mosaic.catalog.needs import Need, is_installed, needs_of, needs_of_family
from mosaic.cli.arguments import Parser
from mosaic.cli.columns import Column, output_width, table_lines
from mosaic.contracts.errors import EXIT_OK
from mosaic.contracts.paths import VarPaths
from mosaic.contracts.schema import AlgorithmSchema
from mosaic.workers.discovery import load_catalogue


def run(words: Sequence[str]) -> int:
    parser = Parser(
        prog="mosaic envs",
        description="List the families of environments, those of one, or tell about one.",
    )
    parser.add_argument("name", nargs="?", metavar="FAMILY|ID", help="a family or an environment")
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse(words)
    environments = list_environments(VarPaths.default())
    # Those of the telemetry lane play: they train nothing.
    entries = load_catalogue().entries.values()
    algorithms = [entry.algorithm for entry in entries if entry.worker.lane == "analytics"]
    document: Any
    if given.name is None:
        document = [_family_json(family, environments) for family in FAMILIES.values()]
        lines = _family_table(environments)
    elif given.name in FAMILIES:
        found = environments.of_family(given.name)
        document = [_summary(each, algorithms) for each in found]
        lines = _environment_table(FAMILIES[given.name], found, environments)
    else:
        environment = environments.find(given.name)
        document = _json(environment, algorithms)
        lines = _page(document)
    print(json.dumps(document, indent=2) if given.json else "\n".join(lines))
    return EXIT_OK


def _family_table(environments: Environments) -> list[str]:
    columns: list[Column[Family]] = [
        Column("family", lambda family: family.name, 0),
        Column(
            "known", lambda family: str(len(environments.of_family(family.name))), 1, right=True
        ),
        Column("installed", lambda family: _state(needs_of_family(family)), 0),
        Column("about", lambda family: family.summary, 2, can_shrink=True),
    ]
    return table_lines(columns, list(FAMILIES.values()), output_width())


def _environment_table(
    family: Family, found: Sequence[Environment], environments: Environments
) -> list[str]:
    columns: list[Column[Environment]] = [
        Column("id", lambda each: each.id, 0),
        Column("group", lambda each: each.group or "-", 2),
        Column("actions", lambda each: each.actions, 1),
        Column("play", lambda each: "yes" if each.is_playable else "-", 3),
        Column("about", lambda each: each.game.goal if each.game else "-", 4, can_shrink=True),
    ]
    lines = table_lines(columns, found, output_width())
    missing = [need.command for need in needs_of_family(family) if not need.is_met]
    if missing:
        lines += ["", "More are listed once it is installed:", *(f"  {each}" for each in missing)]
    if family.name in environments.problems:
        lines += ["", f"The family cannot be listed: {environments.problems[family.name]}"]
    return lines


def _page(document: dict[str, Any]) -> list[str]:
    """Return everything about one environment, each thing under its name."""
    lines = [f"{document['id']}: {document['title']}"]
    for name in ("goal", "observation", "action", "reward", "episode"):
        if document.get(name):
            lines += _paragraph(name, str(document[name]))
    lines += _paragraph("observations", str(document["observation_space"] or "unknown"))
    lines += _paragraph("actions", str(document["action_space"] or "unknown"))
    if document["action_meanings"]:
        named = enumerate(document["action_meanings"])
        lines += _paragraph("meanings", ", ".join(f"{number} {text}" for number, text in named))
    keys = ", ".join(f"{each['keys']}: {each['meaning']}" for each in document["controls"])
    lines += _paragraph("keys", keys or document["keys"])
    lines += _paragraph("algorithms", ", ".join(document["algorithms"]) or "none fits")
    for need in document["needs"]:
        state = "installed" if need["is_met"] else f"missing: {need['command']}"
        lines += _paragraph("needs", f"{need['name']}, {state}")
    if document["also"]:
        lines += _paragraph("other ids", ", ".join(document["also"]))
    return lines


def _paragraph(name: str, text: str) -> list[str]:
    width = min(100, shutil.get_terminal_size().columns)
    return textwrap.wrap(
        text, width, initial_indent=f"{name + ':':<14}", subsequent_indent=" " * 14
    )


def _state(needs: Sequence[Need]) -> str:
    missing = [need.command for need in needs if not need.is_met]
    return f"no: {'; '.join(missing)}" if missing else "yes"


def _family_json(family: Family, environments: Environments) -> dict[str, Any]:
    return {
        "name": family.name,
        "title": family.title,
        "summary": family.summary,
        "environments": len(environments.of_family(family.name)),
        "problem": environments.problems.get(family.name, ""),
        "needs": [_need_json(need) for need in needs_of_family(family)],
    }


def _summary(each: Environment, algorithms: Sequence[AlgorithmSchema]) -> dict[str, Any]:
    return {
        "id": each.id,
        "title": each.title,
        "family": each.family.name,
        "group": each.group,
        "also": list(each.also),
        "actions": each.actions,
        "installed": is_installed(each),
        "playable": each.is_playable,
        "algorithms": [algorithm.name for algorithm in each.fitting(algorithms)],
    }


def _json(each: Environment, algorithms: Sequence[AlgorithmSchema]) -> dict[str, Any]:
    """Return everything; the spaces of one without a page are asked of the environment itself."""
    game = each.game
    asked = describe_environment(each.id) if game is None and is_installed(each) else {}
    return _summary(each, algorithms) | {
        "goal": game.goal if game else "",
        "observation": game.observation if game else "",
        "action": game.action if game else "",
        "reward": game.reward if game else "",
        "episode": game.episode if game else "",
        "observation_space": game.observation_space if game else asked.get("observation_space"),
        "action_space": game.action_space if game else asked.get("action_space"),
        "action_meanings": list(game.actions) if game else [],
        "controls": [
            {"keys": control.text, "action": control.action, "meaning": control.meaning}
            for control in (game.controls if game else ())
        ],
        "keys": each.family.keys if each.is_playable else f"agents only. {each.why_agent_only}",
        "needs": [_need_json(need) for need in needs_of(each)],
    }


def _need_json(need: Need) -> dict[str, Any]:
    return {"name": need.name, "is_met": need.is_met, "command": need.command}
