"""A parser of flags whose every refusal is one line."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any, NoReturn

from mosaic.contracts.errors import ConfigError, suggest


class Parser(argparse.ArgumentParser):
    """argparse, with errors as ConfigError and the nearest known flag named."""

    def __init__(self, **options: Any) -> None:
        super().__init__(
            allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter, **options
        )

    def error(self, message: str) -> NoReturn:
        raise ConfigError(f"{self.prog.removeprefix('mosaic ')}: {message}.")

    def parse(self, words: Sequence[str]) -> argparse.Namespace:
        given, unknown = self.parse_known_args(list(words))
        if unknown:
            raise unknown_word(self.prog, unknown[0], list(self._option_string_actions))
        return given


def unknown_word(command: str, word: str, known: Sequence[str]) -> ConfigError:
    """Return the refusal of a flag or word that the command does not take."""
    flag = word.split("=")[0]
    if not flag.startswith("-"):
        return ConfigError(f"{command.removeprefix('mosaic ')} does not understand {word!r}.")
    nearest = suggest(flag.replace("_", "-"), known)
    return ConfigError(
        f"{command.removeprefix('mosaic ')} has no flag {flag}.{nearest}",
        hint=f"'{command} --help' lists them.",
    )
