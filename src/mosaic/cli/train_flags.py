"""The flags of `mosaic train`, read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mosaic.cli.arguments import unknown_word
from mosaic.contracts.errors import ConfigError
from mosaic.contracts.parameters import Parameter, parse_given
from mosaic.contracts.schema import AlgorithmSchema
from mosaic.contracts.secrets import holds_login, is_secret, variable_of
from mosaic.contracts.train_flags import train_parameters
from mosaic.contracts.train_request import TrainRequest, train_request


def parse_train(algorithm: AlgorithmSchema, words: Sequence[str]) -> TrainRequest:
    command = f"mosaic train {algorithm.name}"
    parameters = train_parameters(algorithm)
    given, unknown = parse_given(parameters, words, owner=command)
    if unknown:
        raise unknown_flag(command, unknown[0], parameters)
    refuse_logins(given)
    return train_request(algorithm, given)


def refuse_logins(given: Mapping[str, Any]) -> None:
    """Refuse an address with a password in it."""
    for name, value in given.items():
        if holds_login(name, value):
            raise _readable(f"--{name.replace('_', '-')} holds a password", name)


def _readable(what: str, name: str) -> ConfigError:
    return ConfigError(
        f"{what}, and other users can read a command line.",
        hint=f"Set {variable_of(name)} in the environment or in .env.",
    )


def unknown_flag(command: str, word: str, parameters: Sequence[Parameter]) -> ConfigError:
    """Return the refusal of a flag; one that holds a secret is told where secrets go."""
    name = word.lstrip("-").split("=")[0].replace("-", "_")
    if is_secret(name):
        return _readable(f"--{name.replace('_', '-')} is a secret", name)
    switches = ["--no-" + each.flag[2:] for each in parameters if each.type == "bool"]
    return unknown_word(command, word, [each.flag for each in parameters] + switches)
