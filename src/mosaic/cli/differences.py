"""Two runs side by side: the settings and the packages in which they differ."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mosaic.cli.run_view import label
from mosaic.cli.tables import print_table
from mosaic.contracts.worker_config import extract_worker_config

if TYPE_CHECKING:
    from mosaic.proto.trainer_pb2 import RunDetails

_OWN = frozenset({"run_id", "worker_id"})

Differences = dict[str, tuple[Any, Any]]


def print_differences(one: RunDetails, other: RunDetails, *, as_json: bool) -> None:
    found = {
        "settings": _compare(_settings(one), _settings(other)),
        "packages": _compare(_packages(one), _packages(other)),
    }
    if as_json:
        print(json.dumps({"runs": [one.run.run_id, other.run.run_id], **found}))
        return
    print(f"{one.run.run_id}  {label(one.run)}\n{other.run.run_id}  {label(other.run)}\n")
    for kind, differing in found.items():
        if not differing:
            print(f"Their {kind} are the same.")
            continue
        rows = [(name, _shown(mine), _shown(theirs)) for name, (mine, theirs) in differing.items()]
        print_table((kind, one.run.run_id[-6:], other.run.run_id[-6:]), rows)


def _compare(one: Mapping[str, Any], other: Mapping[str, Any]) -> Differences:
    names = sorted({*one, *other})
    return {
        name: (one.get(name), other.get(name)) for name in names if one.get(name) != other.get(name)
    }


def _packages(details: RunDetails) -> dict[str, Any]:
    """Return what was installed when the run was made, as its manifest says."""
    manifest = json.loads(details.manifest_json) if details.manifest_json else {}
    packages = (manifest.get("requirements") or {}).get("packages")
    return packages if isinstance(packages, dict) else {}


def _settings(details: RunDetails) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    _flatten("", extract_worker_config(json.loads(details.config_json)), flat)
    return {name: value for name, value in flat.items() if name not in _OWN}


def _flatten(prefix: str, value: Any, flat: dict[str, Any]) -> None:
    if not isinstance(value, Mapping):
        flat[prefix] = value
        return
    for name, item in value.items():
        _flatten(f"{prefix}.{name}" if prefix else str(name), item, flat)


def _shown(value: Any) -> str:
    return "-" if value is None else str(value)
