"""From what the user gave, in flags or in a form, to the run configs that are submitted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mosaic.contracts.capabilities import WorkerCapabilities
from mosaic.contracts.curriculum import check_curriculum, named_schedule
from mosaic.contracts.errors import ConfigError
from mosaic.contracts.extras import RESERVED, check_reserved
from mosaic.contracts.run_document import run_document
from mosaic.contracts.schema import AlgorithmSchema
from mosaic.contracts.submitting import absolute_paths, shell_variables
from mosaic.contracts.train_flags import DAEMON, SEEDS, SYNONYMS, hyperparameters


@dataclass(frozen=True, slots=True)
class TrainRequest:
    """What the user asked for, checked against the schema."""

    algorithm: AlgorithmSchema
    env_id: str
    total_timesteps: int
    seeds: tuple[int | None, ...]
    extras: Mapping[str, Any]
    placement: Mapping[str, Any]  # flags of DAEMON
    local: bool
    detach: bool
    validate: bool
    json: bool

    def worker_config(self, seed: int | None) -> dict[str, Any]:
        """Return the config of a run that has no id yet."""
        return {
            "algo": self.algorithm.name,
            "env_id": self.env_id,
            "total_timesteps": self.total_timesteps,
            "seed": seed,
            "worker_id": self.placement.get("worker_id"),
            "agent_id": self.extras.get("agent_id"),
            "extras": dict(self.extras),
        }


def train_request(algorithm: AlgorithmSchema, given: Mapping[str, Any]) -> TrainRequest:
    """Return the request; every value is of its parameter's type already."""
    if given.get("env_id") is None:
        raise ConfigError("--env-id is missing: name the environment, such as CartPole-v1.")
    tuned = algorithm.tuned_for(given["env_id"]).values if given.get("tuned") else {}
    return TrainRequest(
        algorithm=algorithm,
        env_id=given["env_id"],
        total_timesteps=_total_timesteps(algorithm, given, tuned),
        seeds=_seeds(given),
        extras=_extras(algorithm, given, tuned),
        placement=_placement(given),
        local=bool(given.get("local")),
        detach=bool(given.get("detach")),
        validate=bool(given.get("validate")),
        json=bool(given.get("json")),
    )


def train_documents(request: TrainRequest, worker: WorkerCapabilities) -> list[dict[str, Any]]:
    """Return one run config for each seed."""
    return [_document(request, worker, seed) for seed in request.seeds]


def _document(
    request: TrainRequest, worker: WorkerCapabilities, seed: int | None
) -> dict[str, Any]:
    config = request.worker_config(seed)  # the daemon gives the run its id
    config["extras"] = absolute_paths(config["extras"])
    document = run_document(config, worker, environment=shell_variables())
    document["resources"] |= _resources(request)
    schedule = _chosen(request, "max_duration_seconds", "max_steps")
    names = _chosen(request, "run_name", "idempotency_key")
    if len(request.seeds) > 1:  # each is a run of its own
        names = {key: f"{name}-{seed}" for key, name in names.items()}
    return document | names | ({"schedule": schedule} if schedule else {})


def _resources(request: TrainRequest) -> dict[str, Any]:
    resources = _chosen(request, "cpus", "memory_mb")
    gpus = request.placement.get("gpus")
    if gpus is not None:  # who asks for a number of them wants no run without
        resources["gpus"] = {"requested": gpus, "mandatory": gpus > 0}
    return resources


def _chosen(request: TrainRequest, *names: str) -> dict[str, Any]:
    return {name: request.placement[name] for name in names if name in request.placement}


def _placement(given: Mapping[str, Any]) -> dict[str, Any]:
    placement = {each.name: given[each.name] for each in DAEMON if given.get(each.name) is not None}
    if not given.get("local"):
        return placement
    if given.get("detach"):
        raise ConfigError(
            "--local and --detach contradict each other: a detached run needs the daemon."
        )
    if placement:
        name = next(iter(placement))
        flag = f"--{name.replace('_', '-')}"
        raise ConfigError(f"{flag} is for the daemon: leave out {flag} or --local.")
    return placement


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
    return parse_seeds(given["seeds"])


def parse_seeds(text: str) -> tuple[int, ...]:
    """Read a list of seeds: 1,2,3."""
    refusal = ConfigError(
        f"seeds={text!r} is not allowed: give different whole numbers from {SEEDS[0]} "
        f"to {SEEDS[1]}, with commas between them."
    )
    try:
        seeds = tuple(int(word) for word in text.split(","))
    except ValueError:
        raise refusal from None
    if len(set(seeds)) < len(seeds) or not all(SEEDS[0] <= seed <= SEEDS[1] for seed in seeds):
        raise refusal
    return seeds


def own_hyperparameters(algorithm: AlgorithmSchema, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was given of the algorithm's own fields."""
    return {
        field.name: given[field.name] for field in hyperparameters(algorithm) if field.name in given
    }


def reserved_keys(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was given of the reserved keys of extras, checked and under proper names."""
    extras: dict[str, Any] = {}
    for name, value in given.items():
        proper = SYNONYMS.get(name, name)
        if proper in RESERVED:
            extras[proper] = _decoded(RESERVED[proper].type, name, value)
    return check_reserved(extras)


def _extras(
    algorithm: AlgorithmSchema, given: Mapping[str, Any], tuned: Mapping[str, Any]
) -> dict[str, Any]:
    extras = reserved_keys(given)
    params = {
        **{name: value for name, value in tuned.items() if name != "total_timesteps"},
        **(extras.pop("algo_params", None) or {}),
        **own_hyperparameters(algorithm, given),
    }
    extras.setdefault("tensorboard_dir", RESERVED["tensorboard_dir"].default)
    check_curriculum(extras, given["env_id"])
    return extras | {"algo_params": algorithm.check(params)}


def _decoded(kind: str, name: str, value: Any) -> Any:
    if kind not in ("object", "list") or not isinstance(value, str):
        return value
    preset = named_schedule(value) if name == "curriculum_schedule" else None
    if preset is not None:
        return preset
    try:
        return json.loads(value)
    except json.JSONDecodeError as error:
        raise ConfigError(f"extras.{name} is not JSON: {error}. Give a JSON {kind}.") from None
