"""Which runs are the same experiment: the same in everything but the seed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mosaic.proto import trainer_pb2 as pb

# What tells two runs of one experiment apart, or only says who started them, and where.
_OWN_OF_RUN = frozenset(
    {
        *("run_id", "seed", "worker_id", "agent_id", "notes", "policy_path", "checkpoint_path"),
        *("track_wandb", "tensorboard_dir", "capture_video", "save_model", "runbus_summary"),
    }
)
# Who watches, and how, changes nothing of what is learned.
_OF_WATCHERS = ("wandb_", "fastlane_")
_MISSING = "–"
_SHOWN_SETTINGS = 4


@dataclass(frozen=True, slots=True)
class Difference:
    """One setting that is not the same everywhere: its name, and its value for each run."""

    name: str
    values: tuple[str, ...]


def settings(run_config: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a run was told, flat: `extras.algo_params.learning_rate` and so on."""
    worker = (run_config.get("metadata") or {}).get("worker") or {}
    flat: dict[str, Any] = {}
    _flatten("", worker.get("config") or {}, flat)
    _flatten("resources", run_config.get("resources") or {}, flat)
    _flatten("schedule", run_config.get("schedule") or {}, flat)
    return flat


def is_own_of_run(name: str) -> bool:
    """Say whether a setting may differ within one experiment."""
    last = name.rpartition(".")[2]
    return last in _OWN_OF_RUN or last.startswith(_OF_WATCHERS)


def experiment_key(run: pb.Run, run_config: Mapping[str, Any]) -> str:
    """Return the same text for runs that differ in nothing but the seed."""
    kept = {name: value for name, value in settings(run_config).items() if not is_own_of_run(name)}
    # A run that was continued is the same experiment still.
    if kept.get("extras.mode") in ("train", "resume_training"):
        del kept["extras.mode"]
    identity = [run.worker, run.algo, run.env_id, sorted(kept.items())]
    return json.dumps(identity, sort_keys=True, default=str)


def differences(configs: Sequence[Mapping[str, Any]]) -> list[Difference]:
    """Return the settings in which these configs differ, in alphabetical order."""
    flat = [settings(config) for config in configs]
    names = sorted({name for each in flat for name in each})
    found = []
    for name in names:
        values = tuple(_shown(each, name) for each in flat)
        if len(set(values)) > 1 and name != "run_id":
            found.append(Difference(name, values))
    return found


def what_sets_apart(experiments: Sequence[tuple[pb.Run, Mapping[str, Any]]]) -> list[str]:
    """Return for each experiment the settings that others of its algorithm and environment lack."""
    alike: dict[tuple[str, str], list[int]] = {}
    for index, (run, _) in enumerate(experiments):
        alike.setdefault((run.algo, run.env_id), []).append(index)
    texts = [""] * len(experiments)
    for indices in alike.values():
        found = differences([experiments[index][1] for index in indices])
        found = [each for each in found if not is_own_of_run(each.name)]
        names = short_names(each.name for each in found)
        for place, index in enumerate(indices):
            parts = [f"{names[each.name]}={each.values[place]}" for each in found]
            more = len(parts) - _SHOWN_SETTINGS
            texts[index] = ", ".join(parts[:_SHOWN_SETTINGS]) + (f", {more} more" * (more > 0))
    return texts


def short_names(names: Iterable[str]) -> dict[str, str]:
    """Return the last part of each dotted name, where that is enough to tell it apart."""
    known = list(names)
    ends = [name.rpartition(".")[2] for name in known]
    return {
        name: end if ends.count(end) == 1 else name for name, end in zip(known, ends, strict=True)
    }


def _flatten(prefix: str, value: Any, into: dict[str, Any]) -> None:
    if isinstance(value, Mapping):
        for key, item in value.items():
            _flatten(f"{prefix}.{key}" if prefix else str(key), item, into)
    else:
        into[prefix] = value


def _shown(flat: Mapping[str, Any], name: str) -> str:
    if name not in flat:
        return _MISSING
    value = flat[name]
    return value if isinstance(value, str) else json.dumps(value, default=str)
