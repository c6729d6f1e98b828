"""The command that would make the same run again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from gym_gui.curve_feed import checkpoint_step
from gym_gui.forms.draft import TrainDraft
from mosaic.client.asynchronous import AsyncClient
from mosaic.contracts.errors import ConfigError, NotFound
from mosaic.contracts.evaluation_request import evaluation_options, evaluation_words
from mosaic.contracts.resume_request import resume_words
from mosaic.contracts.worker_config import extract_worker_config
from mosaic.proto import trainer_pb2 as pb
from mosaic.workers.discovery import Catalogue, load_catalogue


async def reproduce_words(client: AsyncClient, details: pb.RunDetails) -> list[str]:
    """Return the words after `mosaic`. A seed that was drawn is named, so that it is the same."""
    catalogue = load_catalogue()
    run, run_config = details.run, json.loads(details.config_json)
    config = extract_worker_config(run_config)
    if run.mode == "policy_eval":
        return _evaluation(run, _extras(config))
    if run.mode == "resume_training":
        return await _resume(client, run, config, catalogue)
    draft = TrainDraft.of_run(catalogue, run_config)
    if run.HasField("seed"):
        draft.given["seed"] = run.seed
    return draft.words()


def _extras(config: Mapping[str, Any]) -> Mapping[str, Any]:
    extras = config.get("extras")
    return extras if isinstance(extras, Mapping) else {}


def _evaluation(run: pb.Run, extras: Mapping[str, Any]) -> list[str]:
    target = extras.get("policy_path")
    if not isinstance(target, str):
        raise ConfigError("The config of this evaluation names no policy.")
    known = {option.name for option in evaluation_options()}
    given: dict[str, Any] = {"env_id": run.env_id, "algo": run.algo}
    if run.HasField("seed"):
        given["seed"] = run.seed
    given |= {name: value for name, value in extras.items() if name in known}
    return [*evaluation_words(target, given), "--detach"]


async def _resume(
    client: AsyncClient, run: pb.Run, config: Mapping[str, Any], catalogue: Catalogue
) -> list[str]:
    """Name the checkpoint, the total, and the hyperparameters that were changed on the way."""
    step = checkpoint_step(config)
    if step is None or not run.parent_run_id:
        raise ConfigError("This run began with the weights of a file; the Resume form does that.")
    try:
        details = await client.get_run(run.parent_run_id)
    except NotFound:
        raise ConfigError("The run that this one continues is gone.") from None
    parent = extract_worker_config(json.loads(details.config_json))
    before = _extras(parent).get("algo_params") or {}
    now = _extras(config).get("algo_params") or {}
    given = {"from": step, "total_timesteps": config.get("total_timesteps")}
    given |= {name: value for name, value in now.items() if before.get(name) != value}
    algorithm = catalogue.find(run.algo).algorithm
    return [*resume_words(run.parent_run_id, algorithm, given), "--detach"]
