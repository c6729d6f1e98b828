"""Where every file lies. Nothing else joins a path of the data directory."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from mosaic.contracts.identifiers import check_run_id, file_name

# The folder under trainer/ that holds a run of each mode.
_FOLDER_OF_MODE = {"policy_eval": "evals", "script": "custom_scripts"}


def default_var_dir() -> Path:
    return Path(os.environ.get("MOSAIC_VAR_DIR") or "var").absolute()


@dataclass(frozen=True, slots=True)
class VarPaths:
    """The data directory."""

    root: Path

    @classmethod
    def default(cls) -> VarPaths:
        return cls(default_var_dir())

    @property
    def settings(self) -> Path:
        return self.root / "mosaic.toml"

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    @property
    def trainer(self) -> Path:
        return self.root / "trainer"

    @property
    def configs(self) -> Path:
        return self.trainer / "configs"

    @property
    def runs(self) -> Path:
        return self.trainer / "runs"

    @property
    def evaluations(self) -> Path:
        return self.trainer / "evals"

    def run_config(self, run_id: str) -> Path:
        return self.configs / f"config-{check_run_id(run_id)}.json"

    def worker_config(self, run_id: str, slot: int) -> Path:
        return self.configs / f"worker-{check_run_id(run_id)}-{slot}.json"

    def run(self, run_id: str, mode: str = "train") -> RunPaths:
        folder = _FOLDER_OF_MODE.get(mode, "runs")
        return RunPaths(self.trainer / folder / check_run_id(run_id))


@dataclass(frozen=True, slots=True)
class RunPaths:
    """The directory of one run."""

    root: Path

    @property
    def trainer(self) -> Path:
        return self.root.parent.parent

    @property
    def manifest(self) -> Path:
        return self.root / "analytics.json"

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    @property
    def stdout_log(self) -> Path:
        return self.logs / "cleanrl.stdout.log"

    @property
    def stderr_log(self) -> Path:
        return self.logs / "cleanrl.stderr.log"

    @property
    def metrics(self) -> Path:
        return self.root / "metrics.jsonl"

    @property
    def events(self) -> Path:
        return self.root / "events.jsonl"

    @property
    def checkpoints(self) -> Path:
        return self.root / "checkpoints"

    @property
    def replay(self) -> Path:
        return self.checkpoints / "replay"

    @property
    def videos(self) -> Path:
        return self.root / "videos"

    @property
    def wandb(self) -> Path:
        return self.root / "wandb"

    @property
    def models(self) -> Path:
        return self.root / "runs"

    @property
    def evaluation_summary(self) -> Path:
        return self.root / "eval_summary.json"

    def relative(self, path: Path) -> str:
        return path.relative_to(self.root).as_posix()


def run_name(env_id: str, algo: str, seed: int, unix_time: int) -> str:
    """Return CleanRL's name of a run: `<env>__<algo>__<seed>__<time>`."""
    return f"{file_name(env_id)}__{algo}__{seed}__{unix_time}"
