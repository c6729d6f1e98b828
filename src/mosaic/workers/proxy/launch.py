"""What a proxy is to start: the file that the daemon wrote before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mosaic.contracts.errors import ConfigError
from mosaic.contracts.files import read_json
from mosaic.contracts.identifiers import check_run_id
from mosaic.contracts.paths import ProxyPaths, VarPaths


@dataclass(frozen=True, slots=True)
class Launch:
    """A worker to be started. Its secrets are not here: they are in the proxy's environment."""

    run_id: str
    run_dir: Path
    events: Path
    command: tuple[str, ...]
    environment: Mapping[str, str]
    registration: Mapping[str, Any]  # fields of RegisterWorkerRequest
    var_dir: Path

    @property
    def paths(self) -> ProxyPaths:
        return VarPaths(self.var_dir).proxy(self.run_id)


def read_launch(path: Path) -> Launch:
    document = read_json(path, what="The launch file")
    try:
        return Launch(
            run_id=check_run_id(document["run_id"]),
            run_dir=Path(document["run_dir"]),
            events=Path(document["events"]),
            command=tuple(document["command"]),
            environment=dict(document["environment"]),
            registration=dict(document["registration"]),
            var_dir=Path(document["var_dir"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ConfigError(
            f"The launch file {str(path)!r} is not one: {type(error).__name__}: {error}."
        ) from None
