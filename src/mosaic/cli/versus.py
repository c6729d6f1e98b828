"""`mosaic versus`: several actors on the same environment and seeds, step by step, in one table."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from mosaic.cli.arguments import unknown_word
from mosaic.cli.contenders import Contender, Seats
from mosaic.cli.parameter_table import parameter_lines
from mosaic.cli.tables import print_table
from mosaic.contracts.errors import EXIT_OK, ConfigError
from mosaic.contracts.parameters import Parameter, parse_given
from mosaic.contracts.paths import VarPaths
from mosaic.contracts.train_flags import SEEDS

OWN = (
    Parameter("env_id", "str", None, "Environment; that of the first run when absent."),
    Parameter("episodes", "int", 10, "Episodes that each plays.", range=(1, None)),
    Parameter("seed", "int", 1, "Seed of the first episode; each next is one more.", range=SEEDS),
    Parameter("max_steps", "int", 1000, "Cut an episode off after so many steps.", range=(1, None)),
    Parameter("json", "bool", False, "Print one JSON object."),
)

USAGE = """\
usage: mosaic versus CONTENDER CONTENDER [...] [flags]

Let actors play the same environment from the same seeds, one step each in turn, and compare.

A contender is a run (its policy plays; of a person's run, what was recorded), a policy file or
checkpoint, 'random', or 'llm:MODEL@BASE_URL'. With a person's run the seeds are those it was
played with.

{own}
"""


def run(words: Sequence[str]) -> int:
    if "-h" in words or "--help" in words:
        print(USAGE.format(own="\n".join(parameter_lines(OWN))), end="")
        return EXIT_OK
    given, names = parse_given(OWN, words, owner="mosaic versus")
    flags = [word for word in names if word.startswith("-")]
    if flags:
        raise unknown_word("mosaic versus", flags[0], [each.flag for each in OWN])
    if len(names) < 2:
        raise ConfigError("versus: name at least two contenders.", hint="See --help.")
    values = {each.name: each.default for each in OWN} | given
    with Seats(VarPaths.default(), names, values["env_id"]) as seats:
        seeds = seats.seeds(int(values["seed"]), int(values["episodes"]))
        for seed in seeds:
            play(seats.contenders, seed, int(values["max_steps"]))
        report(seats, seeds, as_json=bool(values["json"]))
    return EXIT_OK


def play(contenders: Sequence[Contender], seed: int, limit: int) -> None:
    """Play one episode each, in lockstep: nobody takes a step before all took the one before."""
    for contender in contenders:
        contender.begin(seed)
    for _ in range(limit):
        playing = [contender for contender in contenders if not contender.is_over]
        if not playing:
            return
        for contender in playing:
            contender.step()


def report(seats: Seats, seeds: Sequence[int], *, as_json: bool) -> None:
    rows = [contender.result() for contender in seats.contenders]
    for row, wins in zip(rows, _wins(rows), strict=True):
        row["wins"] = wins
    if as_json:
        print(json.dumps({"env_id": seats.env_id, "seeds": list(seeds), "contenders": rows}))
        return
    print(f"{seats.env_id}, {len(seeds)} episodes each, seeds {seeds[0]} to {seeds[-1]}")
    header = ("contender", "mean", "median", "best", "worst", "steps", "wins")
    print_table(
        header,
        [
            (
                row["name"],
                f"{row['mean_return']:.3f}",
                f"{row['median_return']:.3f}",
                f"{row['max_return']:g}",
                f"{row['min_return']:g}",
                f"{row['mean_length']:.1f}",
                str(row["wins"]),
            )
            for row in rows
        ],
    )


def _wins(rows: Sequence[dict[str, Any]]) -> list[int]:
    """Count for each contender the episodes in which nobody had a larger return."""
    games = list(zip(*(row["returns"] for row in rows), strict=True))
    return [sum(game[place] == max(game) for game in games) for place in range(len(rows))]
