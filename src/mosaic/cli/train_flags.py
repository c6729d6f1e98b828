"""The flags of `mosaic train`: its own, the algorithm's hyperparameters, and the keys of extras."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mosaic.cli.arguments import unknown_word
from mosaic.contracts.errors import ConfigError
from mosaic.contracts.extras import RESERVED, check_reserved
from mosaic.contracts.parameters import Parameter, parse_given
from mosaic.contracts.schema import AlgorithmSchema
from mosaic.contracts.secrets import ENVIRONMENT_OF, is_secret

_SEEDS = (0, 2**32 - 1)

OWN = (
    Parameter("env_id", "str", None, "Environment id; required."),
    Parameter("total_timesteps", "int", None, "Environment steps of the run.", range=(1, None)),
    Parameter("seed", "int", None, "Seed; drawn and recorded when absent.", range=_SEEDS),
    Parameter("seeds", "str", None, "Several seeds, one run after the other: 1,2,3."),
    Parameter("tuned", "bool", False, "Start from the tuned values for this environment."),
    Parameter("local", "bool", False, "Run here and now, without a daemon."),
    Parameter("detach", "bool", False, "Hand the run to the daemon and return."),
    Parameter("validate", "bool", False, "Do a dry run first; go on only if it passes."),
    Parameter("json", "bool", False, "Print one JSON object at the end, and no progress."),
)

# CleanRL's spelling of a key that has another name here.
_SYNONYMS = {"track": "track_wandb"}


@dataclass(frozen=True, slots=True)
class TrainRequest:
    """What the user asked for, checked against the schema."""

    algorithm: AlgorithmSchema
    env_id: str
    total_timesteps: int
    seeds: tuple[int | None, ...]
    extras: Mapping[str, Any]
    local: bool
    detach: bool
    validate: bool
    json: bool

    def worker_config(self, run_id: str, seed: int | None) -> dict[str, Any]:
        return {
            "run_id": run_id,
            "algo": self.algorithm.name,
            "env_id": self.env_id,
            "total_timesteps": self.total_timesteps,
            "seed": seed,
            "extras": dict(self.extras),
        }


def hyperparameters(algorithm: AlgorithmSchema) -> list[Parameter]:
    """Return the fields that are the algorithm's own, and not options of every run."""
    taken = {parameter.name for parameter in OWN} | set(RESERVED) | set(_SYNONYMS) | {"dry_run"}
    return [field for field in algorithm.fields if field.name not in taken]


def extras_flags() -> list[Parameter]:
    """Return the reserved keys as flags; objects and lists are given as JSON."""
    flags = []
    for key in RESERVED.values():
        kind = "str" if key.type in ("object", "list") else key.type
        flags.append(Parameter(key.name, kind, key.default, key.help, True, key.choices, key.range))
    return flags + [
        Parameter(name, RESERVED[proper].type, None, RESERVED[proper].help, True)
        for name, proper in _SYNONYMS.items()
    ]


def parse_train(algorithm: AlgorithmSchema, words: Sequence[str]) -> TrainRequest:
    fields = hyperparameters(algorithm)
    command = f"mosaic train {algorithm.name}"
    parameters = [*OWN, *extras_flags(), *fields]
    given, unknown = parse_given(parameters, words, owner=command)
    if unknown:
        raise _unknown_flag(command, unknown[0], parameters)
    if given.get("env_id") is None:
        raise ConfigError("--env-id is missing: name the environment, such as CartPole-v1.")
    tuned = algorithm.tuned_for(given["env_id"]).values if given.get("tuned") else {}
    explicit = {field.name: given[field.name] for field in fields if field.name in given}
    return TrainRequest(
        algorithm=algorithm,
        env_id=given["env_id"],
        total_timesteps=_total_timesteps(algorithm, given, tuned),
        seeds=_seeds(given),
        extras=_extras(algorithm, given, tuned, explicit),
        local=bool(given.get("local")),
        detach=bool(given.get("detach")),
        validate=bool(given.get("validate")),
        json=bool(given.get("json")),
    )


def _unknown_flag(command: str, word: str, parameters: Sequence[Parameter]) -> ConfigError:
    name = word.lstrip("-").split("=")[0].replace("-", "_")
    if is_secret(name):
        variable = ENVIRONMENT_OF.get(name.lower(), name.upper())
        return ConfigError(
            f"--{name.replace('_', '-')} is a secret, and other users can read a command line.",
            hint=f"Set {variable} in the environment or in .env.",
        )
    switches = ["--no-" + each.flag[2:] for each in parameters if each.type == "bool"]
    return unknown_word(command, word, [each.flag for each in parameters] + switches)


def _total_timesteps(
    algorithm: AlgorithmSchema, given: Mapping[str, Any], tuned: Mapping[str, Any]
) -> int:
    steps = given.get("total_timesteps", tuned.get("total_timesteps"))
    if steps is None and algorithm.has("total_timesteps"):
        steps = algorithm.default("total_timesteps")
    if steps is None:
        raise ConfigError("--total-timesteps is missing: give a whole number of at least 1.")
    return int(steps)


def _seeds(given: Mapping[str, Any]) -> tuple[int | None, ...]:
    if "seeds" not in given:
        return (given.get("seed"),)
    if "seed" in given:
        raise ConfigError("--seed and --seeds contradict each other: give one.")
    refusal = ConfigError(
        f"seeds={given['seeds']!r} is not allowed: give different whole numbers from {_SEEDS[0]} "
        f"to {_SEEDS[1]}, with commas between them."
    )
    try:
        seeds = tuple(int(word) for word in given["seeds"].split(","))
    except ValueError:
        raise refusal from None
    if len(set(seeds)) < len(seeds) or not all(_SEEDS[0] <= seed <= _SEEDS[1] for seed in seeds):
        raise refusal
    return seeds


def _extras(
    algorithm: AlgorithmSchema,
    given: Mapping[str, Any],
    tuned: Mapping[str, Any],
    explicit: Mapping[str, Any],
) -> dict[str, Any]:
    extras: dict[str, Any] = {}
    for name, value in given.items():
        proper = _SYNONYMS.get(name, name)
        if proper in RESERVED:
            extras[proper] = _decoded(RESERVED[proper].type, name, value)
    extras = check_reserved(extras)
    params = {
        **{name: value for name, value in tuned.items() if name != "total_timesteps"},
        **(extras.pop("algo_params", None) or {}),
        **explicit,
    }
    extras.setdefault("tensorboard_dir", RESERVED["tensorboard_dir"].default)
    return extras | {"algo_params": algorithm.check(params)}


def _decoded(kind: str, name: str, value: Any) -> Any:
    if kind not in ("object", "list") or value is None:
        return value
    try:
        return json.loads(value)
    except json.JSONDecodeError as error:
        raise ConfigError(f"extras.{name} is not JSON: {error}. Give a JSON {kind}.") from None
