"""Side by side: what is asked of `mosaic versus`, and what is shown of its answer."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from gym_gui.side_by_side import Match, match_rows, play, read_contenders
from mosaic.contracts.errors import ConfigError
from mosaic.contracts.paths import VarPaths


def test_the_command() -> None:
    names = read_contenders(" random \n\nllm:m@http://127.0.0.1:1/v1\n")
    assert Match(names, "FrozenLake-v1", 5, 3).words() == [
        *("versus", "random", "llm:m@http://127.0.0.1:1/v1", "--env-id", "FrozenLake-v1"),
        *("--episodes", "5", "--seed", "3"),
    ]


@pytest.mark.parametrize(
    ("match", "line"),
    [
        (Match(("random",)), "at least two contenders"),
        (Match(("random", "--json")), "'--json' is a flag"),
        (Match(("random", "random"), "--help"), "'--help' is a flag"),
    ],
)
def test_what_is_refused(match: Match, line: str) -> None:
    with pytest.raises(ConfigError, match=line):
        match.words()


def test_a_refusal_of_the_command_is_shown_as_its_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="--env-id is missing"):
        asyncio.run(play(VarPaths(tmp_path), Match(("random", "random"))))


def test_the_best_comes_first() -> None:
    told = {"median_return": 0.0, "max_return": 1.0, "min_return": 0.0, "mean_length": 2.0}
    found = [
        {"name": "a", "mean_return": 0.1, "wins": 1, **told},
        {"name": "b", "mean_return": 0.5, "wins": 9, **told},
    ]
    rows = match_rows({"contenders": found})
    assert [(row["name"], row["mean"], row["wins"]) for row in rows] == [
        ("b", "0.500", 9),
        ("a", "0.100", 1),
    ]
