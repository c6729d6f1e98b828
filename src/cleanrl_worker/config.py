"""The config of a CleanRL run, checked once where it enters."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mosaic.contracts.curriculum import check_curriculum, curriculum_envs
from mosaic.contracts.errors import ConfigError
from mosaic.contracts.extras import RESERVED, check_reserved
from mosaic.contracts.files import read_json
from mosaic.contracts.identifiers import check_run_id
from mosaic.contracts.paths import VarPaths
from mosaic.contracts.secrets import redact, take_secrets
from mosaic.contracts.settings import (
    OperatorSettings,
    check_checkout,
    check_env_id,
    load_settings,
)
from mosaic.contracts.worker_config import (
    Reservation,
    check_worker_config,
    extract_reservation,
    extract_worker_config,
)


@dataclass(frozen=True)
class CleanRLWorkerConfig:
    """A checked worker config. `extras` and `raw` hold no secret: those are in `secrets`."""

    run_id: str
    algo: str
    env_id: str
    total_timesteps: int | None  # None in policy_eval alone
    seed: int | None  # None: one is drawn at the start
    worker_id: str | None = None
    agent_id: str | None = None
    extras: Mapping[str, Any] = field(default_factory=dict)
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False)
    reservation: Reservation | None = None
    # Environment variables of the algorithm process, by name.
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)

    @property
    def options(self) -> dict[str, Any]:
        """The reserved extras under their proper names."""
        return check_reserved(self.extras)

    @property
    def mode(self) -> str:
        return str(self.options.get("mode") or "train")

    @property
    def has_reserved_gpu(self) -> bool:
        return self.reservation is not None and self.reservation.gpus > 0

    def to_json(self) -> dict[str, Any]:
        """Return the flat worker config, without secrets."""
        return {
            "run_id": self.run_id,
            "algo": self.algo,
            "env_id": self.env_id,
            "total_timesteps": self.total_timesteps,
            "seed": self.seed,
            "worker_id": self.worker_id,
            "agent_id": self.agent_id,
            "extras": dict(self.extras),
        }

    def with_seed(self, seed: int) -> CleanRLWorkerConfig:
        return dataclasses.replace(self, seed=seed)

    def with_overrides(
        self, *, extras: Mapping[str, Any] | None = None, **fields: Any
    ) -> CleanRLWorkerConfig:
        """Return the config with these values in place of its own; None means not given."""
        merged = merge_overrides(self.to_json(), {**fields, "extras": extras})
        changed = _check(merged, settings=None)
        return dataclasses.replace(
            changed,
            raw=self.raw,
            reservation=self.reservation,
            secrets={**self.secrets, **changed.secrets},
        )


def load_config(
    path: Path,
    overrides: Mapping[str, Any] | None = None,
    *,
    settings: OperatorSettings | None = None,
) -> CleanRLWorkerConfig:
    """Read a config file, flat or nested; what the command line says wins."""
    return parse_config(read_json(path, what="--config"), overrides, settings=settings)


def parse_config(
    document: Any,
    overrides: Mapping[str, Any] | None = None,
    *,
    settings: OperatorSettings | None = None,
) -> CleanRLWorkerConfig:
    config = merge_overrides(extract_worker_config(document), overrides or {})
    return dataclasses.replace(
        _check(config, settings), raw=redact(document), reservation=extract_reservation(document)
    )


def merge_overrides(config: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Lay values over a config; extras and their algo_params merge key by key."""
    given = {key: value for key, value in overrides.items() if value is not None}
    extras = given.pop("extras", None)
    merged = {**config, **given}
    if extras is not None:
        merged["extras"] = _merge_extras(config.get("extras"), extras)
    return merged


def _merge_extras(below: Any, above: Mapping[str, Any]) -> Any:
    if not isinstance(below, Mapping):
        return below if below is not None else dict(above)  # a wrong type is refused later
    replaced = {_proper_name(name) for name in above}
    kept = {name: value for name, value in below.items() if _proper_name(name) not in replaced}
    merged = {**kept, **above}
    parameters, over = below.get("algo_params"), above.get("algo_params")
    if isinstance(parameters, Mapping) and isinstance(over, Mapping):
        merged["algo_params"] = {**parameters, **over}
    return merged


def _proper_name(name: str) -> str:
    key = RESERVED.get(name)
    return key.alias_of or name if key else name


def _check(config: Mapping[str, Any], settings: OperatorSettings | None) -> CleanRLWorkerConfig:
    fields = check_worker_config(config)
    if settings is None:
        settings = load_settings(VarPaths.default().settings)
    for env_id in (fields["env_id"], *curriculum_envs(fields["extras"])):
        check_env_id(env_id, settings)
    check_curriculum(fields["extras"], fields["env_id"])
    check_checkout(fields["extras"].get("cleanrl_home"), settings)
    extras, secrets = take_secrets(fields.pop("extras"))
    checked = CleanRLWorkerConfig(**fields, extras=extras, secrets=secrets)
    check_reserved(extras)
    return checked


def find_run_id(document: Any, overrides: Mapping[str, Any]) -> str | None:
    """Return the run id of a document that may be wrong in every other way, or None."""
    try:
        config = merge_overrides(extract_worker_config(document), overrides)
        return check_run_id(config.get("run_id"))
    except ConfigError:
        return None


def find_mode(document: Any, overrides: Mapping[str, Any]) -> str | None:
    """Return the mode of a document that may be wrong in every other way, or None."""
    try:
        config = merge_overrides(extract_worker_config(document), overrides)
    except ConfigError:
        return None
    extras = config.get("extras")
    return extras.get("mode") if isinstance(extras, Mapping) else None
