"""A training that is being put together: what the user gave, over what holds without it.

It knows no page: the form, quick launch and "Train Agent" submit the same draft, and the copied
command says the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mosaic.contracts.errors import ConfigError, MosaicError
from mosaic.contracts.extras import RESERVED
from mosaic.contracts.parameters import Parameter, find
from mosaic.contracts.schema import AlgorithmSchema, TunedRow
from mosaic.contracts.secrets import REDACTED, is_secret, redact
from mosaic.contracts.train_flags import hyperparameters, train_parameters, train_words
from mosaic.contracts.train_request import parse_seeds, train_documents, train_request
from mosaic.contracts.worker_config import extract_worker_config
from mosaic.workers.discovery import Catalogue, CatalogueEntry

# What belongs to one run and not to its repetition, and what the form sets itself.
_NOT_REPEATED = frozenset({"mode", "checkpoint_path", "policy_path", "algo_params", "optuna_db"})


@dataclass(slots=True)
class TrainDraft:
    """`given` holds what differs from the defaults, under the names of `mosaic train`'s flags."""

    catalogue: Catalogue
    algo: str
    given: dict[str, Any] = field(default_factory=dict)

    @property
    def entry(self) -> CatalogueEntry:
        return self.catalogue.find(self.algo)

    @property
    def algorithm(self) -> AlgorithmSchema:
        return self.entry.algorithm

    @property
    def env_id(self) -> str:
        return str(self.given.get("env_id") or "")

    @property
    def tuned(self) -> TunedRow | None:
        """The tuned row of this algorithm and environment, used or not."""
        return next((row for row in self.algorithm.tuned if row.env_id == self.env_id), None)

    def parameter(self, name: str) -> Parameter:
        return find(train_parameters(self.algorithm), name, owner=self.algo)

    def base(self, name: str) -> Any:
        """Return the value that holds while nothing is given."""
        row = self.tuned
        if row is not None and self.given.get("tuned") and name in row.values:
            value = row.values[name]
        elif self.algorithm.has(name) and name not in RESERVED:
            value = self.algorithm.default(name)
        else:
            value = self.parameter(name).default
        return tuple(value) if isinstance(value, list) else value

    def _checked(self, name: str, value: Any) -> Any:
        """Check a value; a list or an object of extras is checked as a whole, by the request."""
        is_json = isinstance(value, dict | list) and name in RESERVED
        return value if is_json else self.parameter(name).check(value)

    def shown(self, name: str) -> Any:
        return self.given.get(name, self.base(name))

    def is_changed(self, name: str) -> bool:
        return name in self.given

    def give(self, name: str, value: Any) -> None:
        """Take a value; one that holds anyway is not given."""
        if value == self.base(name) and name != "env_id":
            self.given.pop(name, None)
        else:
            self.given[name] = value

    def give_seeds(self, text: str) -> None:
        """Take a seed or a list of them; nothing or 0 lets each run draw its own."""
        text = text.strip()
        seeds = parse_seeds(text) if text not in ("", "0") else ()
        for name in ("seed", "seeds"):
            self.given.pop(name, None)
        if len(seeds) == 1:
            self.given["seed"] = seeds[0]
        elif seeds:
            self.given["seeds"] = ",".join(map(str, seeds))

    @property
    def seeds_text(self) -> str:
        return str(self.given.get("seeds") or self.given.get("seed") or "")

    def choose_algorithm(self, name: str) -> None:
        """Take another algorithm; hyperparameters that it does not have are let go."""
        self.catalogue.find(name)
        was = {each.name for each in hyperparameters(self.algorithm)}
        self.algo = name
        kept = {each.name for each in hyperparameters(self.algorithm)}
        self.given = {
            key: value for key, value in self.given.items() if key not in was or key in kept
        }
        self.settle()

    def settle(self) -> None:
        """Let go of tuned values where there are none, and of what has become the default."""
        if self.tuned is None:
            self.given.pop("tuned", None)
        for name in list(self.given):
            self.give(name, self.given[name])

    def documents(self) -> list[dict[str, Any]]:
        """Return one run config for each seed, checked as far as the schema goes."""
        if not self.env_id.strip():
            raise ConfigError("Environment id is empty: name one, such as CartPole-v1.")
        return train_documents(train_request(self.algorithm, self.given), self.entry.worker)

    def words(self) -> list[str]:
        """Return the words after `mosaic` that submit the same."""
        return [*train_words(self.algorithm, redact(self.given)), "--detach"]

    def summary(self) -> str:
        return f"{self.algo} on {self.env_id}"

    def to_json(self) -> dict[str, Any]:
        kept = {name: value for name, value in self.given.items() if not is_secret(name)}
        return {"algo": self.algo, "given": redact(kept)}

    @classmethod
    def from_json(cls, catalogue: Catalogue, document: Mapping[str, Any]) -> TrainDraft | None:
        """Return a draft that was kept; None where it is of another version, or spoilt."""
        algo, given = document.get("algo"), document.get("given")
        if not isinstance(algo, str) or not isinstance(given, Mapping):
            return None
        try:
            draft = cls(catalogue.holding(algo, given), algo)
            draft.given = {name: draft._checked(name, given[name]) for name in given}
            draft.documents()
        except MosaicError:
            return None
        return draft

    @classmethod
    def of_run(cls, catalogue: Catalogue, run_config: Mapping[str, Any]) -> TrainDraft:
        """Return the draft that would train the same again."""
        config = extract_worker_config(run_config)
        extras = dict(config.get("extras") or {})
        if extras.get("mode") == "policy_eval":
            raise ConfigError(
                f"Run {config.get('run_id')} is an evaluation.", hint="Name one that was trained."
            )
        algo = str(config.get("algo"))
        draft = cls(catalogue.holding(algo, extras), algo, {"env_id": config.get("env_id")})
        options = {name: value for name, value in extras.items() if name not in _NOT_REPEATED}
        values = {
            "total_timesteps": config.get("total_timesteps"),
            **_placement(run_config, draft.entry.worker.estimated_memory_mb),
            **options,
            **dict(extras.get("algo_params") or {}),
        }
        for name, value in values.items():
            if value != REDACTED and not is_secret(name):
                draft.give(name, draft._checked(name, value))
        draft.give_seeds(str(config.get("seed") or ""))
        return draft


def _placement(run_config: Mapping[str, Any], usual_memory_mb: int) -> dict[str, Any]:
    """Return what a run asked of the machine, as far as it is not what every run asks."""
    resources = run_config.get("resources") or {}
    schedule = run_config.get("schedule") or {}
    gpus = resources.get("gpus") or {}
    asked = {
        "cpus": resources.get("cpus") if resources.get("cpus") != 1 else None,
        "memory_mb": resources.get("memory_mb"),
        "gpus": gpus.get("requested") if gpus.get("mandatory") else None,
        **{name: schedule.get(name) for name in ("max_duration_seconds", "max_steps")},
    }
    if asked["memory_mb"] == usual_memory_mb:
        asked["memory_mb"] = None
    return {name: value for name, value in asked.items() if value is not None}
