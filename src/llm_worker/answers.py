"""From a model's answer to actions, or to the plain fact that there are none in it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

_FENCE = re.compile(r"```[a-z]*\n(.*?)```", re.DOTALL)


class Unparsable(ValueError):
    """An answer that names no action; the text says what was wrong."""


def parse_actions(answer: str, actions: Sequence[str], limit: int) -> list[int]:
    """Return the actions of an answer, at most `limit`.

    It holds a JSON list of actions, or an object with such a list under "actions"; each is a name
    or a number. The last one counts, so that a model may think aloud before. An answer with one
    unknown action is unparsable as a whole: nothing is guessed.
    """
    lists = [found for value in _json_values(answer) if (found := _list_of(value)) is not None]
    if not lists:
        raise Unparsable('there is no JSON list of actions, such as {"actions": ["..."]}')
    if not lists[-1]:
        raise Unparsable("the list of actions is empty")
    return [_number_of(item, actions) for item in lists[-1]][:limit]


def _json_values(answer: str) -> Iterator[Any]:
    """Yield every JSON object or list in the text that is not inside another one."""
    text = "\n".join(_FENCE.findall(answer)) or answer
    decoder, at = json.JSONDecoder(), 0
    while (start := _next_opening(text, at)) >= 0:
        try:
            value, at = decoder.raw_decode(text, start)
        except RecursionError:  # nested beyond anything meant: what follows is no better
            return
        except ValueError:
            at = start + 1
            continue
        yield value


def _next_opening(text: str, at: int) -> int:
    found = [place for mark in "[{" if (place := text.find(mark, at)) >= 0]
    return min(found, default=-1)


def _list_of(value: Any) -> list[Any] | None:
    if isinstance(value, dict):
        value = value.get("actions")
    return value if isinstance(value, list) else None


def _number_of(item: Any, actions: Sequence[str]) -> int:
    if isinstance(item, str):
        names = [name.lower() for name in actions]
        if item.strip().lower() in names:
            return names.index(item.strip().lower())
    elif isinstance(item, int) and not isinstance(item, bool) and 0 <= item < len(actions):
        return item
    raise Unparsable(f"{item!r} is none of the actions {', '.join(actions)}")
