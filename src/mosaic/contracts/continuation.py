"""From a run that was to the run config of its successor: going on from a checkpoint, or playing.

The successor is a run of its own. Who its parent is it reads from the checkpoint, which names the
run that wrote it. Only JSON is read here: the tensors are the worker's.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from mosaic.contracts.errors import ConfigError, NotFound
from mosaic.contracts.manifest import RunStatus
from mosaic.contracts.paths import RunPaths
from mosaic.contracts.saved_states import (
    SavedState,
    describe_policy,
    find_policy,
    find_states,
    read_manifest,
)
from mosaic.contracts.worker_config import extract_worker_config


def continue_config(
    run_config: Mapping[str, Any],
    run_dir: Path,
    *,
    from_step: int | None = None,
    total_timesteps: int | None = None,
    changes: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the run config that goes on from the last exact checkpoint, or from the named step.

    `changes` are laid over extras, hyperparameters key by key. A given `total_timesteps` is the
    total, earlier steps included.
    """
    config = extract_worker_config(run_config)
    _refuse_evaluation(config)
    state = _choose(find_states(run_dir), from_step, config, run_dir)
    if total_timesteps is not None:
        config["total_timesteps"] = total_timesteps
    elif from_step is None:
        _refuse_what_is_complete(config, run_dir, state)
    config["extras"] = _merge(
        config.get("extras") or {},
        {**(changes or {}), "mode": "resume_training", "checkpoint_path": str(state.path)},
    )
    made = _successor(run_config, config)
    _let_go_on(made, state, is_extended=total_timesteps is not None)
    _ask_for_gpu(made, changes)
    return made


def repeat_config(run_config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the run config that does the same again: another run, with the same seed."""
    return _successor(run_config, extract_worker_config(run_config))


def evaluation_config(
    run_config: Mapping[str, Any],
    run_dir: Path,
    *,
    from_step: int | None = None,
    changes: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the run config that evaluates what a run has learned: its policy, or a checkpoint.

    Without `from_step` that is the saved policy, and of a run that saved none the last checkpoint.
    """
    config = extract_worker_config(run_config)
    policy = find_saved_policy(config, run_dir, from_step)
    # A policy is evaluated as it was trained, and on other episodes than its training's.
    config |= {"seed": None, "total_timesteps": None}
    extras = {"mode": "policy_eval", "policy_path": str(policy)}
    config["extras"] = {**_watching(config), **(changes or {}), **extras}
    made = _successor(run_config, config)
    made.pop("schedule", None)
    _ask_for_gpu(made, changes)
    return made


def find_saved_policy(
    config: Mapping[str, Any], run_dir: Path, from_step: int | None = None
) -> Path:
    """Return the policy of a run, or its checkpoint of a step; it needs one of them."""
    _refuse_evaluation(config)
    policy = find_policy(run_dir) if from_step is None else None
    if policy is not None:
        return policy
    states = find_states(run_dir)
    if not states:
        raise NotFound(
            f"Run {config.get('run_id')} has neither a saved policy nor a checkpoint: there is "
            "nothing to evaluate."
        )
    return states[-1].path if from_step is None else _at_step(states, from_step, config).path


def policy_config(
    policy: Path,
    *,
    algo: str | None = None,
    env_id: str | None = None,
    changes: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the worker config that evaluates a policy file, or a checkpoint, by itself.

    What is not given is what lies beside the weights; a file of CleanRL's own says nothing.
    """
    if not policy.exists():
        raise NotFound(f"The policy {str(policy)!r} does not exist.")
    described = describe_policy(policy)
    config = {"algo": algo or described.algo, "env_id": env_id or described.env_id}
    for name, value in config.items():
        if not value:
            raise ConfigError(
                f"{name} is missing: nothing beside the policy {str(policy)!r} names it.",
                hint=f"Give --{name.replace('_', '-')}.",
            )
    extras = {"mode": "policy_eval", "policy_path": str(policy.absolute())}
    return {**config, "seed": None, "extras": {**(changes or {}), **extras}}


def _choose(
    states: list[SavedState], from_step: int | None, config: Mapping[str, Any], run_dir: Path
) -> SavedState:
    if from_step is not None and states:
        return _at_step(states, from_step, config)
    exact = [state for state in states if state.is_exact]
    if exact:
        return exact[-1]
    run_id = config.get("run_id")
    if states:
        raise NotFound(
            f"Run {run_id} has no exact checkpoint to go on from.",
            hint=f"--from {states[-1].step} takes one that is not: {states[-1].why_not_exact}.",
        )
    origin = (config.get("extras") or {}).get("checkpoint_path")
    raise NotFound(
        f"Run {run_id} has no checkpoint to go on from: {str(RunPaths(run_dir).checkpoints)!r} "
        "holds none.",
        hint=f"It began at {origin!r}: resume the run that wrote that." if origin else None,
    )


def _at_step(states: list[SavedState], step: int, config: Mapping[str, Any]) -> SavedState:
    for state in states:
        if state.step == step:
            return state
    raise NotFound(
        f"Run {config.get('run_id')} has no checkpoint of step {step}. It has: {_listed(states)}."
    )


def _listed(states: Iterable[SavedState]) -> str:
    return ", ".join(
        f"{each.step} ({each.why_not_exact})" if each.why_not_exact else str(each.step)
        for each in states
    )


def _refuse_evaluation(config: Mapping[str, Any]) -> None:
    if (config.get("extras") or {}).get("mode") == "policy_eval":
        raise ConfigError(
            f"Run {config.get('run_id')} is an evaluation: it learns nothing and saves nothing.",
            hint="Name the run that was trained.",
        )


def _refuse_what_is_complete(config: Mapping[str, Any], run_dir: Path, state: SavedState) -> None:
    """Refuse to repeat the end of a run; one that was lost while it ended is not complete.

    Its last step says nothing: a learner stops at the last whole batch below the total.
    """
    if read_manifest(run_dir).get("status") == RunStatus.COMPLETED:
        raise ConfigError(
            f"Run {config.get('run_id')} is complete: it stands at step {state.step} of "
            f"{config.get('total_timesteps')}.",
            hint="Give a larger --total-timesteps, or an earlier --from.",
        )


def _watching(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an evaluation takes over: the device, and the switches of evaluations."""
    extras = config.get("extras") or {}
    names = ("cuda", "use_cuda", "bundle", "notes")
    return {
        name: value for name, value in extras.items() if name in names or name.startswith("eval_")
    }


def _ask_for_gpu(made: dict[str, Any], changes: Mapping[str, Any] | None) -> None:
    """Forget that the run had no GPU where its successor is to use one."""
    resources = made.get("resources") or {}
    if (changes or {}).get("cuda") and not (resources.get("gpus") or {}).get("requested"):
        resources.pop("gpus", None)


def _merge(extras: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    merged = {**extras, **over}
    below, above = extras.get("algo_params"), over.get("algo_params")
    if isinstance(below, Mapping) and isinstance(above, Mapping):
        merged["algo_params"] = {**below, **above}
    return merged


def _successor(run_config: Mapping[str, Any], config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the run config with another worker config, and without what was that run's alone."""
    made: dict[str, Any] = copy.deepcopy(dict(run_config))
    run_id = str(config.get("run_id"))
    # The interpreter may have moved since: the new run gets the present one.
    for key in ("run_name", "idempotency_key", "entry_point", "arguments"):
        made.pop(key, None)
    (made.get("artifacts") or {}).pop("output_prefix", None)  # it holds the run's name
    worker = made["metadata"]["worker"]
    worker["config"] = {key: value for key, value in config.items() if key != "run_id"}
    for named in (worker, worker["config"]):
        if str(named.get("worker_id") or "").endswith(f"-worker-{run_id[:8]}"):
            del named["worker_id"]  # made from the run's id, not chosen
    ui = made["metadata"].get("ui")
    if isinstance(ui, dict):
        ui["run_mode"] = (config.get("extras") or {}).get("mode", "train")
    return made


def _let_go_on(made: dict[str, Any], state: SavedState, *, is_extended: bool) -> None:
    """Lift a limit of steps that stands behind the checkpoint, where the user asked for more."""
    schedule = made.get("schedule") or {}
    limit = schedule.get("max_steps")
    if limit is None or limit > state.step:
        return
    if not is_extended:
        raise ConfigError(
            f"The run was to stop at schedule.max_steps={limit}, and its checkpoint is of step "
            f"{state.step}.",
            hint="Give --total-timesteps to go beyond.",
        )
    made["schedule"] = {**schedule, "max_steps": None}
