"""The config of a run, checked once where it enters."""

from __future__ import annotations

import secrets as random_source
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from mosaic.contracts.errors import ConfigError
from mosaic.contracts.extras import RESERVED, check_reserved
from mosaic.contracts.identifiers import check_run_id
from mosaic.contracts.schema import AlgorithmSchema, WorkerSchema
from mosaic.contracts.secrets import take_secrets
from mosaic.contracts.settings import OperatorSettings, check_env_id
from mosaic.contracts.worker_config import (
    MAX_SEED,
    Reservation,
    check_worker_config,
    extract_reservation,
    extract_worker_config,
)


@dataclass(frozen=True)
class RunSettings:
    """What one run is to do. `params` has every hyperparameter; no secret is outside `secrets`."""

    run_id: str
    algo: str
    env_id: str
    total_timesteps: int | None  # None in policy_eval alone
    seed: int
    worker_id: str
    agent_id: str
    options: Mapping[str, Any]
    params: Mapping[str, Any]
    reservation: Reservation | None = None
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)

    @property
    def mode(self) -> str:
        return str(self.options.get("mode") or "train")

    def option(self, name: str) -> Any:
        """Return a reserved key of extras, or its default."""
        value = self.options.get(name)
        return RESERVED[name].default if value is None else value

    def with_params(self, values: Mapping[str, Any]) -> RunSettings:
        return replace(self, params={**self.params, **values})

    def to_json(self) -> dict[str, Any]:
        return {
            "run_id": self.run_id,
            "algo": self.algo,
            "env_id": self.env_id,
            "total_timesteps": self.total_timesteps,
            "seed": self.seed,
            "worker_id": self.worker_id,
            "agent_id": self.agent_id,
            "extras": {**self.options, "algo_params": dict(self.params)},
        }


def parse_settings(
    document: Any,
    overrides: Mapping[str, Any],
    schema: WorkerSchema,
    operator: OperatorSettings,
) -> RunSettings:
    """Return the settings of a config, flat or nested; what the command line says wins."""
    fields = check_worker_config(_merge(extract_worker_config(document), overrides))
    check_env_id(fields["env_id"], operator)
    extras, secrets = take_secrets(fields.pop("extras"))
    algorithm = schema.algorithm(fields["algo"])
    options = check_reserved(extras)
    run_id, seed = fields["run_id"], fields.pop("seed")
    return RunSettings(
        **{
            **fields,
            "worker_id": fields["worker_id"] or f"{schema.worker_type}-worker-{run_id[:8]}",
            "agent_id": fields["agent_id"] or "player",
        },
        seed=random_source.randbelow(MAX_SEED) if seed is None else seed,
        options={name: value for name, value in options.items() if name != "algo_params"},
        params=_params(algorithm, extras, options),
        reservation=extract_reservation(document),
        secrets=secrets,
    )


def find_run_id(document: Any, overrides: Mapping[str, Any]) -> str | None:
    """Return the run id of a document that may be wrong in every other way, or None."""
    try:
        return check_run_id(_merge(extract_worker_config(document), overrides).get("run_id"))
    except ConfigError:
        return None


def _params(
    algorithm: AlgorithmSchema, extras: Mapping[str, Any], options: Mapping[str, Any]
) -> dict[str, Any]:
    """Return every hyperparameter; one that is not of this algorithm is refused by name."""
    loose = {name: value for name, value in extras.items() if name not in RESERVED}
    given = algorithm.check({**loose, **(options.get("algo_params") or {})})
    defaults = {parameter.name: parameter.default for parameter in algorithm.fields}
    return {**defaults, **given}


def _merge(config: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    given = {key: value for key, value in overrides.items() if value is not None}
    extras = given.pop("extras", None)
    merged = {**config, **given}
    below = config.get("extras")
    if extras is not None and isinstance(below, Mapping | None):
        merged["extras"] = {**(below or {}), **extras}
    return merged
