"""From a config to the flags of a script: its own, by the names that its Args gives them."""

from __future__ import annotations

from typing import Any

from cleanrl_worker.arguments import parameter_flags
from cleanrl_worker.config import CleanRLWorkerConfig
from mosaic.contracts.errors import ConfigError
from mosaic.contracts.extras import RESERVED
from mosaic.contracts.parameters import find, to_flags
from mosaic.contracts.schema import AlgorithmSchema

# Options of ours that need something of the algorithm which a script does not have.
_CHECKPOINTS = ("checkpoint_interval", "checkpoint_path", "auto_resume")


def build_script_flags(config: CleanRLWorkerConfig, script: AlgorithmSchema) -> list[str]:
    """Return the exact flags of the script; the seed must have been drawn."""
    options = config.options
    _refuse_what_it_cannot(options, script)
    own = {
        "env_id": config.env_id,
        "total_timesteps": config.total_timesteps,
        "seed": config.seed,
        "cuda": config.has_reserved_gpu if options.get("cuda") is None else options["cuda"],
    }
    flags = [flag for name, value in own.items() for flag in _flags_of(script, name, value)]
    for name, value in options.items():
        field = RESERVED[name].flag
        if field in (None, "cuda", "tensorboard_dir") or value is None or not script.has(field):
            continue
        flags += _flags_of(script, field, value)
    params = options.get("algo_params") or {}
    for name in (*(name for name in config.extras if name not in RESERVED), *params):
        find(script.fields, name, owner=script.name)  # not one of ours, such as torch_threads
    return flags + parameter_flags(config.extras, params, script)


def _flags_of(script: AlgorithmSchema, name: str, value: Any) -> list[str]:
    """Return the flag of a field, if the script has it and reads it as a flag."""
    if not script.has(name):
        return []
    return to_flags(find(script.fields, name, owner=script.name), value)


def _refuse_what_it_cannot(options: dict[str, Any], script: AlgorithmSchema) -> None:
    mode = options.get("mode") or "train"
    if mode != "train":
        raise ConfigError(
            f"extras.mode={mode!r} is not allowed with algo={script.name!r}: a script of a CleanRL "
            "checkout trains, and no more.",
            hint="A model that it saved is evaluated with MOSAIC's algorithm of the same name.",
        )
    for name in _CHECKPOINTS:
        if options.get(name):
            raise ConfigError(
                f"extras.{name}={options[name]!r} is not allowed with algo={script.name!r}: "
                "CleanRL's scripts save no checkpoints."
            )
    for name, value in options.items():
        flag = RESERVED[name].flag
        is_ours = flag in ("tensorboard_dir", "keep_checkpoints", "checkpoint_replay", "cuda")
        if value and flag and not is_ours and not script.has(flag):
            raise ConfigError(
                f"extras.{name}={value!r} is not allowed: {script.module} has no flag "
                f"--{flag.replace('_', '-')}."
            )
