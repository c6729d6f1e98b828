"""From a config to the argument list of the algorithm process. Pure functions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from cleanrl_worker.config import CleanRLWorkerConfig
from cleanrl_worker.run_options import RunOptions
from cleanrl_worker.teacher_request import teacher_flags
from mosaic.contracts.errors import ConfigError, suggest
from mosaic.contracts.extras import RESERVED, event_files_folder
from mosaic.contracts.identifiers import file_name
from mosaic.contracts.parameters import Parameter, parameters_of, to_flags
from mosaic.contracts.schema import AlgorithmSchema

RUN_OPTIONS: dict[str, Parameter] = {option.name: option for option in parameters_of(RunOptions)}

# Run options that the worker sets, and where a user sets what the worker sets them from.
_PLACE_OF: dict[str, str] = {
    "env_id": "the worker config's own 'env_id'",
    "total_timesteps": "the worker config's own 'total_timesteps'",
    "seed": "the worker config's own 'seed'",
    "dry_run": "the worker's flag --dry-run",
    **{name: f"extras.{name}" for name in RESERVED},
    **{key.flag: f"extras.{key.name}" for key in RESERVED.values() if key.flag},
}


def build_arguments(config: CleanRLWorkerConfig, algorithm: AlgorithmSchema) -> list[str]:
    """Return the exact flags of the algorithm process; the seed must have been drawn."""
    options = config.options
    return [
        *to_flags(RUN_OPTIONS["env_id"], config.env_id),
        *to_flags(RUN_OPTIONS["total_timesteps"], config.total_timesteps),
        *to_flags(RUN_OPTIONS["seed"], config.seed),
        *_cuda(options.get("cuda"), config.has_reserved_gpu),
        *_env_cpus(config),
        *_tensorboard(tensorboard_dir(options)),
        *_run_options(options),
        *teacher_flags(options, algorithm),
        *parameter_flags(config.extras, options.get("algo_params") or {}, algorithm),
    ]


def warnings_of(config: CleanRLWorkerConfig) -> list[str]:
    """Return what the user should know of a config that is accepted."""
    mode = config.options.get("fastlane_video_mode")
    if mode in (None, "off"):
        return []
    return [f"fastlane_video_mode={mode}: live frames are not in this version; none are sent."]


def tensorboard_dir(options: Mapping[str, Any]) -> str | None:
    """Return the folder of the event files, inside the run directory; None: there are none."""
    value = event_files_folder(options)
    if value is None:
        return None
    path = PurePosixPath(value)
    is_inside = value.strip() and not path.is_absolute() and ".." not in path.parts
    if not is_inside or not value.isprintable() or "\\" in value:
        raise ConfigError(
            f"extras.tensorboard_dir={value!r} is not allowed: give a folder inside the run "
            "directory, without '..', or null for no event files."
        )
    return path.as_posix()


def _tensorboard(folder: str | None) -> list[str]:
    return to_flags(RUN_OPTIONS["tensorboard_dir"], folder)


def _cuda(asked: bool | None, is_reserved: bool) -> list[str]:
    if asked is None and not is_reserved:
        return []
    return to_flags(RUN_OPTIONS["cuda"], is_reserved if asked is None else asked)


def _env_cpus(config: CleanRLWorkerConfig) -> list[str]:
    """Let environments have the processors that were reserved, unless the config says how many."""
    name = "env_cpus"
    is_given = name in config.extras or name in (config.options.get("algo_params") or {})
    cpus = config.reservation.cpus if config.reservation is not None else None
    return [] if is_given or cpus is None or cpus == 1 else to_flags(RUN_OPTIONS[name], cpus)


def _run_options(options: Mapping[str, Any]) -> list[str]:
    """Return the flags of the reserved keys that have one; a null leaves the default."""
    flags: list[str] = []
    for name, value in options.items():
        option = RESERVED[name].flag
        if option in (None, "cuda", "tensorboard_dir") or value is None:
            continue
        # A curriculum is a list or an object, and travels as JSON.
        text = json.dumps(value) if isinstance(value, dict | list) else value
        flags += to_flags(RUN_OPTIONS[option], text)
    return flags


def parameter_flags(
    extras: Mapping[str, Any], algo_params: Mapping[str, Any], algorithm: AlgorithmSchema
) -> list[str]:
    """Return the flags of hyperparameters: algo_params, and extras that are not reserved."""
    forwarded = {name: value for name, value in extras.items() if name not in RESERVED}
    for name in sorted(forwarded.keys() & algo_params.keys()):
        if forwarded[name] != algo_params[name]:
            raise ConfigError(
                f"extras.{name}={forwarded[name]!r} contradicts "
                f"extras.algo_params.{name}={algo_params[name]!r}: give one."
            )
    known = {**RUN_OPTIONS, **{field.name: field for field in algorithm.fields}}
    flags: list[str] = []
    for place, values in (("extras.", forwarded), ("extras.algo_params.", algo_params)):
        for name, value in values.items():
            if place == "extras." and name in algo_params:
                continue
            flags += _flags_of(place, name, value, known, algorithm.name)
    return flags


def _flags_of(
    place: str, name: str, value: Any, known: Mapping[str, Parameter], algo: str
) -> list[str]:
    if name in _PLACE_OF:
        raise ConfigError(f"{place}{name} is not allowed there: it belongs in {_PLACE_OF[name]}.")
    if name not in known:
        candidates = [*known, *RESERVED] if place == "extras." else list(known)
        raise ConfigError(
            f"{place}{name} is unknown: {algo} has no parameter {name!r}."
            f"{suggest(name, candidates)}",
            hint=f"'mosaic algos {algo}' lists them.",
        )
    if name == "exp_name" and value is not None and value != file_name(str(value)):
        raise ConfigError(
            f"{place}exp_name={value!r} is not allowed: it names files; give letters, digits, "
            "'.', '_' or '-'."
        )
    try:
        return to_flags(known[name], value)
    except ConfigError as error:
        raise ConfigError(f"{place}{error.message}") from None
