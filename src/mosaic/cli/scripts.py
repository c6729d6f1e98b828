"""The algorithm that a command names: one of a worker's, or a script of a CleanRL checkout."""

from __future__ import annotations

from collections.abc import Sequence

from mosaic.contracts.checkouts import find_home, is_script, usual_home
from mosaic.workers.discovery import Catalogue, CatalogueEntry

_FLAGS = ("--cleanrl-home", "--cleanrl_home")


def find_algorithm(
    catalogue: Catalogue, words: Sequence[str], home: str | None = None
) -> tuple[CatalogueEntry, list[str]]:
    """Return the entry of the first word, and the words with the checkout named among them.

    The checkout must be known before the flags are read, since the script says which there are.
    """
    name, *rest = words
    if not is_script(name):
        return catalogue.find(name), [name, *rest]
    given = home or _given_home(rest)
    found = find_home({"cleanrl_home": given or usual_home()}, name)
    if given is None:
        rest += [_FLAGS[0], str(found)]
    return catalogue.script(name, found), [name, *rest]


def _given_home(words: Sequence[str]) -> str | None:
    for index, word in enumerate(words):
        flag, separator, value = word.partition("=")
        if flag in _FLAGS:
            return value if separator else next(iter(words[index + 1 :]), None)
    return None
