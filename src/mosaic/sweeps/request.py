"""What a sweep was asked for: one JSON file in its directory."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mosaic.contracts.errors import ConfigError
from mosaic.contracts.files import read_json, write_json_whole
from mosaic.contracts.metrics import find_metric
from mosaic.contracts.parameters import Parameter
from mosaic.contracts.paths import SweepPaths
from mosaic.contracts.schema import AlgorithmSchema
from mosaic.contracts.search import SearchRange
from mosaic.contracts.secrets import redact

SAMPLERS = ("tpe", "random", "grid")
PRUNERS = ("median", "hyperband", "halving", "none")
DIRECTIONS = ("maximize", "minimize")
OBJECTIVE = "charts/episodic_return"

# The flags of `mosaic sweep` and the fields of its form, beside those of a training.
OPTIONS = (
    Parameter("trials", "int", 20, "How many settings are tried.", range=(1, 100_000)),
    Parameter("objective", "str", OBJECTIVE, "The metric that is sought."),
    Parameter("direction", "str", "maximize", "Which way is better.", choices=DIRECTIONS),
    Parameter("sampler", "str", "tpe", "How settings are proposed.", choices=SAMPLERS),
    Parameter("pruner", "str", "median", "How bad trials are ended early.", choices=PRUNERS),
    Parameter("parallel", "int", 1, "Trials at a time.", range=(1, 64)),
    Parameter("study", "str", None, "Name of the study; made when absent.", True),
    Parameter("sampler_seed", "int", None, "Seed of the sampler.", True, range=(0, 2**32 - 1)),
    Parameter("defaults_first", "bool", True, "Try the algorithm's defaults first."),
)


@dataclass(frozen=True, slots=True)
class SweepRequest:
    """`given` are flags of a training that all trials share; `space` is what they differ in."""

    study: str
    algo: str
    given: Mapping[str, Any]
    space: tuple[SearchRange, ...]
    seeds: tuple[int, ...] = (1,)
    trials: int = 20
    objective: str = OBJECTIVE
    direction: str = "maximize"
    sampler: str = "tpe"
    pruner: str = "median"
    parallel: int = 1
    sampler_seed: int | None = None
    defaults_first: bool = True
    created_at: float = field(default=0.0)

    def save(self, paths: SweepPaths) -> None:
        document = dataclasses.asdict(self)
        document["space"] = [row.to_json() for row in self.space]
        write_json_whole(paths.request, redact(document))

    def check(self, algorithm: AlgorithmSchema) -> None:
        """Refuse what no sweep can do."""
        if not self.space:
            raise ConfigError(
                f"{algorithm.name} has no search space of its own.",
                hint="Give --search NAME=LOW..HIGH, once for each hyperparameter.",
            )
        clash = [row.name for row in self.space if row.name in self.given]
        if clash:
            raise ConfigError(
                f"--{clash[0].replace('_', '-')} is fixed and searched at once: leave out one."
            )
        if self.sampler == "grid" and any(not row.choices for row in self.space):
            loose = next(row.name for row in self.space if not row.choices)
            raise ConfigError(
                f"sampler=grid needs choices, and {loose} has a span.",
                hint=f"Give --search {loose}=VALUE,VALUE.",
            )
        if find_metric(self.objective) is None:
            raise ConfigError(
                f"objective={self.objective!r} is no metric.",
                hint="See docs/reference/metrics.md; the usual one is charts/episodic_return.",
            )


def load_request(paths: SweepPaths) -> SweepRequest:
    document = read_json(paths.request, what="The sweep's request")
    values = dict(document)
    values["space"] = tuple(SearchRange.from_json(row) for row in values["space"])
    values["seeds"] = tuple(values["seeds"])
    return SweepRequest(**values)
