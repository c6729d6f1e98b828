"""What a config asks to have evaluated: checked by the worker, without torch, and made flags."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator
from typing import Any

from cleanrl_worker.arguments import parameter_flags, tensorboard_dir
from cleanrl_worker.config import CleanRLWorkerConfig
from cleanrl_worker.eval_options import EvalOptions
from mosaic.contracts.errors import ConfigError
from mosaic.contracts.extras import RESERVED
from mosaic.contracts.parameters import Parameter, parameters_of, to_flags
from mosaic.contracts.schema import AlgorithmSchema
from mosaic.contracts.worker_config import check_text

MODE = "policy_eval"
EVAL_OPTIONS: dict[str, Parameter] = {option.name: option for option in parameters_of(EvalOptions)}

# The one setting of training that an evaluation has as well.
_SHARED = "torch_threads"


def resolve_policy(config: CleanRLWorkerConfig) -> CleanRLWorkerConfig:
    """Return the config with the policy's absolute path and the seed of the evaluation.

    `seed_override` wins over the config's seed. The seed that the policy was trained with is never
    taken: an evaluation on the episodes of the training would flatter it.
    """
    options = config.options
    given = options.get("policy_path")
    if config.mode != MODE:
        if given:
            raise ConfigError(f"extras.policy_path needs extras.mode={MODE!r}.")
        return config
    if not given:
        raise ConfigError(
            f"extras.mode={MODE!r} needs extras.policy_path: a .cleanrl_model file or a checkpoint."
        )
    path = os.path.abspath(check_text("extras.policy_path", given))
    if not os.path.exists(path):
        raise ConfigError(f"extras.policy_path={given!r} does not exist: {path!r}.")
    override = options.get("seed_override")
    return dataclasses.replace(
        config,
        seed=config.seed if override is None else override,
        extras={**config.extras, "policy_path": path},
    )


def evaluation_arguments(config: CleanRLWorkerConfig, algorithm: AlgorithmSchema) -> list[str]:
    """Return the exact flags of the evaluation process; the seed must have been drawn."""
    options = config.options
    parameter_flags(config.extras, options.get("algo_params") or {}, algorithm)  # refuses typos
    asked = options.get("cuda")
    values = {
        "policy_path": options["policy_path"],
        "env_id": config.env_id,
        "seed": config.seed,
        **{name: value for name, value in options.items() if _is_evaluation_key(name, value)},
        "tensorboard_dir": tensorboard_dir(options),
        "cuda": config.has_reserved_gpu if asked is None else asked,
        **{name: value for name, value in _training_settings(config) if name == _SHARED},
    }
    return [flag for name, value in values.items() for flag in to_flags(EVAL_OPTIONS[name], value)]


def evaluation_warnings(config: CleanRLWorkerConfig) -> list[str]:
    """Return what the user should know: which settings say nothing to an evaluation."""
    unused = sorted({name for name, _ in _training_settings(config) if name != _SHARED})
    if not unused:
        return []
    return [f"{', '.join(unused)}: not used, since a policy is evaluated as it was trained."]


def _is_evaluation_key(name: str, value: Any) -> bool:
    return name.startswith("eval_") and value is not None


def _training_settings(config: CleanRLWorkerConfig) -> Iterator[tuple[str, Any]]:
    yield from (config.options.get("algo_params") or {}).items()
    yield from ((name, value) for name, value in config.extras.items() if name not in RESERVED)
