"""Where the policy of an evaluation comes from: a run, or a file by itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from nicegui import ui

from gym_gui import formatting
from gym_gui.saved import Saved, saved_at
from mosaic.contracts.evaluation_request import evaluate_policy, evaluate_run, evaluation_words
from mosaic.contracts.saved_states import describe_policy
from mosaic.contracts.worker_config import extract_worker_config
from mosaic.workers.discovery import Catalogue

_FINAL = "final"


class PolicySource(Protocol):
    def show_choice(self, on_change: Callable[[], None]) -> None:
        """Show which policy it is, or the choice between several."""

    def known(self) -> dict[str, Any]:
        """Return env_id, algo and trained_seed, as far as they are told."""

    def asked(self) -> dict[str, Any]:
        """Return what the choice adds to the flags."""

    def address(self) -> dict[str, Any]:
        """Return the query that opens the form with this choice."""

    def document(self, asked: Mapping[str, Any]) -> dict[str, Any]: ...

    def words(self, asked: Mapping[str, Any]) -> list[str]: ...


class RunPolicy:
    """The final policy of a run, or one of its checkpoints."""

    def __init__(self, saved: Saved, run_config: Mapping[str, Any], step: str) -> None:
        self._saved = saved
        self._run_config = run_config
        self._config = extract_worker_config(run_config)
        steps = {str(state.step) for state in saved.states}
        self._choice = step if step in steps else self._first()

    def _first(self) -> str:
        return _FINAL if self._saved.policy is not None else str(self._saved.states[-1].step)

    def show_choice(self, on_change: Callable[[], None]) -> None:
        def choose(event: Any) -> None:
            self._choice = event.value
            on_change()

        ui.radio(self._options(), value=self._choice, on_change=choose).props("dense")

    def _options(self) -> dict[str, str]:
        saved = self._saved
        final = {} if saved.policy is None else {_FINAL: f"final policy · {saved.policy.name}"}
        states = {
            str(state.step): f"checkpoint of step {state.step:,} · "
            f"{formatting.age(saved_at(state.path))}"
            for state in reversed(saved.states)
        }
        return final | states

    def known(self) -> dict[str, Any]:
        config = self._config
        return {
            "env_id": config.get("env_id"),
            "algo": config.get("algo"),
            "trained_seed": config.get("seed"),
        }

    def asked(self) -> dict[str, Any]:
        return {} if self._choice == _FINAL else {"from": int(self._choice)}

    def address(self) -> dict[str, Any]:
        query = {"form": "evaluate", "run": self._saved.run.run_id}
        return query | ({} if self._choice == _FINAL else {"step": self._choice})

    def document(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        return evaluate_run(self._run_config, self._saved.run_dir, asked)

    def words(self, asked: Mapping[str, Any]) -> list[str]:
        return evaluation_words(self._saved.run.run_id, asked)


class FilePolicy:
    """A file or a checkpoint that may come from anywhere, CleanRL's own files included."""

    def __init__(self, path: Path, catalogue: Catalogue) -> None:
        self._path = path
        self._catalogue = catalogue

    def show_choice(self, on_change: Callable[[], None]) -> None:
        ui.label(str(self._path)).classes("mosaic-mono break-all")
        if saved_at(self._path) is None:
            ui.label("There is no such file.").props("role=alert").classes("text-negative")

    def known(self) -> dict[str, Any]:
        described = describe_policy(self._path)
        return {"env_id": described.env_id, "algo": described.algo}

    def asked(self) -> dict[str, Any]:
        return {}

    def address(self) -> dict[str, Any]:
        return {"form": "evaluate", "policy": str(self._path)}

    def document(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        return evaluate_policy(self._path, asked, lambda algo: self._catalogue.find(algo).worker)

    def words(self, asked: Mapping[str, Any]) -> list[str]:
        return evaluation_words(str(self._path), asked)
