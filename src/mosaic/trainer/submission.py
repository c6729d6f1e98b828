"""A submission: checked as a whole before anything is stored, and what it is started with."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mosaic.contracts.allowed import check_allowed
from mosaic.contracts.capabilities import WorkerCapabilities
from mosaic.contracts.checkouts import find_home, is_script, script_schema
from mosaic.contracts.errors import ConfigError
from mosaic.contracts.extras import RESERVED, check_reserved
from mosaic.contracts.identifiers import new_run_id
from mosaic.contracts.needs import bundle_of, check_needs
from mosaic.contracts.paths import VarPaths
from mosaic.contracts.run_config import RunConfig, parse_run_config
from mosaic.contracts.run_files import write_run_files
from mosaic.contracts.schema import AlgorithmSchema, WorkerSchema, load_schema
from mosaic.contracts.secrets import (
    ENVIRONMENT_OF,
    REDACTED,
    is_secret,
    lost_login,
    redact,
    take_secrets,
    variable_of,
)
from mosaic.contracts.settings import OperatorSettings
from mosaic.contracts.worker_config import check_worker_config
from mosaic.trainer.scheduler import Request, Reservation
from mosaic.workers.discovery import DiscoveredWorker

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Sent along with every submission of somebody who has them; what they are for is switched on.
_SWITCH_OF = {
    "WANDB_API_KEY": "track_wandb",
    "WANDB_HTTP_PROXY": "track_wandb",
    "WANDB_HTTPS_PROXY": "track_wandb",
    "HF_TOKEN": "upload_model",
}


@dataclass(frozen=True, slots=True)
class Submission:
    """A run that may be queued. Only `secrets` holds any; they are never stored.

    `secret_names` are those it cannot do without: also such as its config names and that are gone,
    since it repeats a run of which only "***" was stored.
    """

    run_id: str
    run_config: RunConfig
    worker_config: Mapping[str, Any]
    secrets: Mapping[str, str] = field(repr=False)  # environment variables of the worker
    worker: WorkerCapabilities
    mode: str
    request: Request
    secret_names: tuple[str, ...] = ()


def prepare(
    config_json: str,
    secrets: Mapping[str, str],
    workers: Sequence[DiscoveredWorker],
    settings: OperatorSettings,
    paths: VarPaths | None = None,
) -> Submission:
    """Check a run config that somebody sent, and give it a run id of its own.

    `paths` tell which dependency bundles there are.
    """
    submitted = parse_run_config(_parse(config_json))
    available = [found.capabilities for found in workers if found.capabilities is not None]
    check_allowed(submitted, available, settings)
    worker = next(each for each in available if each.module == submitted.metadata.worker.module)
    run_id = new_run_id()
    config = _check_config(submitted, worker, run_id, paths or VarPaths.default())
    config["extras"], taken = _part_from_secrets(config["extras"])
    variables = _check_secrets({**secrets, **taken})
    run_config = _fill(submitted, worker, config)
    return Submission(
        run_id=run_id,
        run_config=run_config,
        worker_config=run_config.metadata.worker.config,
        secrets=variables,
        worker=worker,
        mode=str(config["extras"].get("mode") or "train"),
        request=request_of(run_id, run_config.to_json()),
        secret_names=_needed_secrets(variables, config["extras"]),
    )


def request_of(run_id: str, config: Mapping[str, Any]) -> Request:
    """Return what a stored run config asks the machine for."""
    resources = config["resources"]
    return Request(
        run_id=run_id,
        cpus=int(resources["cpus"]),
        memory_mb=int(resources["memory_mb"]),
        gpus=int(resources["gpus"]["requested"]),
        is_gpu_mandatory=bool(resources["gpus"]["mandatory"]),
    )


def write_launch_files(
    paths: VarPaths, run_id: str, config: Mapping[str, Any], reservation: Reservation
) -> Path:
    """Write what was submitted and what the worker is given; return the path of the latter.

    The worker's is the run config with what was really reserved, so that it knows of its GPUs.
    """
    reserved = {
        "cpus": reservation.cpus,
        "memory_mb": reservation.memory_mb,
        "gpus": {**config["resources"]["gpus"], "requested": len(reservation.gpus)},
    }
    given = {**config, "resources": reserved}
    assert given["metadata"]["worker"]["config"]["run_id"] == run_id
    return write_run_files(paths, config, given).worker_config


def _parse(config_json: str) -> Any:
    try:
        return json.loads(config_json)
    except json.JSONDecodeError as error:
        raise ConfigError(
            f"The run config is not JSON: {error.msg} at line {error.lineno}, column {error.colno}."
        ) from None
    except RecursionError:
        raise ConfigError("The run config is not JSON that we read: too deep.") from None


def _check_config(
    submitted: RunConfig, worker: WorkerCapabilities, run_id: str, paths: VarPaths
) -> dict[str, Any]:
    """Return the worker config, checked against the contract, the worker's schema, and what is
    installed."""
    given = submitted.metadata.worker
    # A given id is replaced: the same config sent twice is two runs.
    config = check_worker_config({**given.config, "run_id": run_id})
    config["worker_id"] = (
        config["worker_id"] or given.worker_id or f"{worker.worker_type}-worker-{run_id[:8]}"
    )
    reserved = check_reserved(config["extras"])
    if reserved.get("mode") == "interactive":
        raise ConfigError(
            "extras.mode='interactive' cannot be submitted: it needs somebody at its input.",
            hint="Start the worker itself with --interactive.",
        )
    algorithm = _algorithm(config, worker)
    _check_hyperparameters(config, reserved, algorithm)
    bundle = bundle_of(paths, config["algo"], reserved)
    check_needs(algorithm, config["env_id"], reserved, bundle)
    config["extras"] = {
        **{name: value for name, value in config["extras"].items() if name not in RESERVED},
        **reserved,
    }
    return config


def _algorithm(config: Mapping[str, Any], worker: WorkerCapabilities) -> AlgorithmSchema:
    """Return what the algorithm can be told: of the schema, or of a script of a checkout."""
    algo = config["algo"]
    if is_script(algo):
        return script_schema(find_home(config["extras"], algo), algo)
    return _schema(worker.schema).algorithm(algo)


def _check_hyperparameters(
    config: Mapping[str, Any], reserved: Mapping[str, Any], algorithm: AlgorithmSchema
) -> None:
    forwarded = {
        name: value
        for name, value in config["extras"].items()
        if name not in RESERVED and not is_secret(name)
    }
    algorithm.check({**forwarded, **(reserved.get("algo_params") or {})})


def _schema(path: Path) -> WorkerSchema:
    return _read_schema(path, path.stat().st_mtime_ns)


@functools.lru_cache(maxsize=16)
def _read_schema(path: Path, changed_at: int) -> WorkerSchema:
    return load_schema(path)


def _part_from_secrets(extras: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return extras with "***" for every secret, and the secrets as environment variables."""
    _, secrets = take_secrets(extras)
    return dict(redact(extras)), secrets


def _needed_secrets(variables: Mapping[str, str], extras: Mapping[str, Any]) -> tuple[str, ...]:
    needed = {name for name in variables if name not in _SWITCH_OF or extras.get(_SWITCH_OF[name])}
    return tuple(sorted(needed | _named_secrets(extras)))


def _named_secrets(extras: Mapping[str, Any]) -> set[str]:
    """Return the variables of the secrets that extras once held."""
    names: set[str] = set()
    for name, value in extras.items():
        if isinstance(value, Mapping):
            names |= _named_secrets(value)
        elif (value == REDACTED and is_secret(name)) or lost_login(name, value):
            names.add(variable_of(name))
    return names


def _check_secrets(secrets: Mapping[str, str]) -> dict[str, str]:
    """Refuse a variable that is no secret: one such as LD_PRELOAD would run a program."""
    for name, value in secrets.items():
        is_known = is_secret(name) or name in ENVIRONMENT_OF.values()
        if not _VARIABLE.fullmatch(name) or not is_known or name.startswith("MOSAIC_"):
            raise ConfigError(
                f"secrets.{name} is not allowed: give the name of a secret, such as "
                "WANDB_API_KEY or HF_TOKEN."
            )
        if "\0" in value:
            raise ConfigError(f"secrets.{name} holds a NUL character, which no variable can.")
    return dict(secrets)


def _fill(submitted: RunConfig, worker: WorkerCapabilities, config: Mapping[str, Any]) -> RunConfig:
    """Return the run config as it is stored: without secrets, and with what was left open."""
    document = submitted.model_dump(mode="json")
    resources = submitted.resources.model_fields_set
    if "memory_mb" not in resources:
        document["resources"]["memory_mb"] = worker.estimated_memory_mb
    if "gpus" not in resources and (worker.requires_gpu or config["extras"].get("cuda")):
        document["resources"]["gpus"] = {"requested": 1, "mandatory": worker.requires_gpu}
    extras = dict(config["extras"])
    if "keep_checkpoints" in submitted.artifacts.model_fields_set:
        extras.setdefault("keep_checkpoints", submitted.artifacts.keep_checkpoints)
    switches = list(submitted.metadata.worker.arguments)
    if submitted.metadata.worker.use_grpc and "--grpc" not in switches:
        switches.append("--grpc")
    document["metadata"]["worker"] |= {
        "worker_id": config["worker_id"],
        "arguments": switches,
        "config": {**config, "extras": extras},
    }
    return parse_run_config(redact(document))
