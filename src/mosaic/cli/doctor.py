"""`mosaic doctor`: what is installed, what is missing, and the command that fixes it."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from collections.abc import Sequence

from mosaic.cli.arguments import Parser
from mosaic.cli.doctor_checks import CHECKS, Check, Status
from mosaic.contracts.errors import EXIT_FAILED, EXIT_OK
from mosaic.contracts.paths import VarPaths

_MARKS = {Status.OK: "ok", Status.MISSING: "-", Status.WARNING: "!", Status.PROBLEM: "!!"}


def run(words: Sequence[str]) -> int:
    parser = Parser(
        prog="mosaic doctor",
        description="Say what is installed, what is missing, and the command that fixes it.",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse(words)
    found = [each for check in CHECKS for each in check(VarPaths.default())]
    problems = [each for each in found if each.status is Status.PROBLEM]
    if given.json:
        document = {"healthy": not problems, "checks": [dataclasses.asdict(each) for each in found]}
        print(json.dumps(document, indent=2))
    else:
        print("\n".join(_lines(found)))
    return EXIT_FAILED if problems else EXIT_OK


def _lines(found: Sequence[Check]) -> list[str]:
    """Return a line for each check, the fix below it, and the verdict."""
    width = max(len(each.name) for each in found)
    lines = []
    for each in found:
        lines.append(f"{_MARKS[each.status]:>2}  {each.name:<{width}}  {each.text}")
        if each.fix:
            lines.append(f"{'':>4}{'':<{width}}  {each.fix}")
    return [*lines, "", _verdict(found)]


def _verdict(found: Sequence[Check]) -> str:
    counts = Counter(each.status for each in found)
    words = {
        Status.PROBLEM: ("problem", "problems"),
        Status.WARNING: ("warning", "warnings"),
        Status.MISSING: ("extra is not installed", "extras are not installed"),
    }
    told = [
        f"{counts[status]} {words[status][counts[status] > 1]}"
        for status in words
        if counts[status]
    ]
    healthy = [] if counts[Status.PROBLEM] else ["healthy"]
    return "; ".join([*healthy, *told])
