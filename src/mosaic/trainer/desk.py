"""Where submissions are taken: who could run them, and what the operator allows."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mosaic.contracts.continuation import continue_config
from mosaic.contracts.errors import ConfigError, MosaicError, NotFound, suggest
from mosaic.contracts.paths import RunPaths, VarPaths
from mosaic.contracts.settings import load_settings
from mosaic.contracts.states import RunState
from mosaic.trainer import log
from mosaic.trainer.store.runs import RunRecord
from mosaic.trainer.submission import Submission, prepare
from mosaic.workers.discovery import DiscoveredWorker, discover_workers


class Desk:
    def __init__(self, paths: VarPaths) -> None:
        self.paths = paths
        self._workers: Sequence[DiscoveredWorker] = discover_workers()

    def refresh(self) -> Sequence[DiscoveredWorker]:
        """Look again which workers are installed."""
        self._workers = discover_workers()
        return self._workers

    def prepare(self, config_json: str, secrets: Mapping[str, str]) -> Submission:
        """Check a submission; the settings are read each time, so that an edit counts at once."""
        try:
            settings = load_settings(self.paths.settings)
            return prepare(config_json, secrets, self._workers, settings, self.paths)
        except MosaicError as error:
            log.say("run_refused", None, error.one_line())
            raise

    def schema_of(self, name: str) -> str:
        """Return the schema of a worker, as its package ships it."""
        known = {worker.name: worker.capabilities for worker in self._workers}
        capabilities = known.get(name)
        if capabilities is None:
            raise NotFound(
                f"worker={name!r} is not there.{suggest(name, known)}",
                hint="'mosaic workers' lists them.",
            )
        return Path(capabilities.schema).read_text(encoding="utf-8")

    def module_of(self, kind: str) -> str:
        """Return the module of the worker of this type."""
        found = [worker.capabilities for worker in self._workers if worker.capabilities]
        modules = {each.worker_type: each.module for each in found}
        if kind not in modules:
            raise ConfigError(
                f"worker_kind={kind!r} is not that of an installed worker.{suggest(kind, modules)}",
                hint="'mosaic workers' lists them.",
            )
        return modules[kind]

    def continue_crashed(
        self, record: RunRecord, secrets: Mapping[str, str], files: RunPaths
    ) -> Submission | None:
        """Return the continuation of a crashed run that asked for one, from its own checkpoint.

        One that saved none of its own is not tried again: it would crash there for ever.
        """
        extras = record.config["metadata"]["worker"]["config"].get("extras") or {}
        if not extras.get("auto_resume"):
            return None
        try:
            config = continue_config(record.config, files.root)
        except MosaicError as error:
            log.say("run_refused", record.run_id, f"not resumed: {error.one_line()}")
            return None
        return self.prepare(json.dumps(config), secrets)


def new_record(submission: Submission, paths: VarPaths) -> RunRecord:
    """Return the record of a run that was just accepted."""
    config, run_config = submission.worker_config, submission.run_config
    kind = submission.worker.worker_type
    return RunRecord(
        run_id=submission.run_id,
        name=run_config.run_name,
        state=RunState.INIT,
        algo=config["algo"],
        env_id=config["env_id"],
        seed=config.get("seed"),
        worker_id=config.get("worker_id") or f"{kind}-worker-{submission.run_id[:8]}",
        worker=kind,
        mode=submission.mode,
        total_timesteps=config.get("total_timesteps"),
        created_at=time.time(),
        parent_run_id=_parent(config.get("extras") or {}, paths),
        config=run_config.to_json(),
        idempotency_key=run_config.idempotency_key,
        secret_names=submission.secret_names,
    )


def _parent(extras: Mapping[str, Any], paths: VarPaths) -> str | None:
    """Return the run whose checkpoint or policy this one starts from."""
    for key in ("checkpoint_path", "policy_path"):
        given = extras.get(key)
        if isinstance(given, str):
            path = Path(given).absolute()
            if path.is_relative_to(paths.runs):
                return path.relative_to(paths.runs).parts[0]
    return None
