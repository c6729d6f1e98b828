"""Where every file lies. Nothing else joins a path of the data directory."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from mosaic.contracts.identifiers import check_run_id, check_study_name, file_name

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
    def cache(self) -> Path:
        """What can be found out again at any time."""
        return self.root / "cache"

    @property
    def jax_programs(self) -> Path:
        return self.root / "jax"

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

    @property
    def bin(self) -> Path:
        return self.trainer / "bin"

    @property
    def bundles(self) -> Path:
        return self.trainer / "venvs"

    @property
    def imports(self) -> Path:
        """Archives that are being unpacked."""
        return self.trainer / "imports"

    @property
    def sweeps(self) -> Path:
        return self.trainer / "sweeps"

    def sweep(self, study: str) -> SweepPaths:
        return SweepPaths(self.sweeps / check_study_name(study))

    @property
    def trainer_database(self) -> Path:
        return self.trainer / "trainer.sqlite"

    @property
    def telemetry_database(self) -> Path:
        return self.root / "telemetry" / "telemetry.sqlite"

    @property
    def daemon_info(self) -> Path:
        return self.trainer / "daemon.json"

    @property
    def daemon_token(self) -> Path:
        return self.trainer / "daemon.token"

    @property
    def daemon_lock(self) -> Path:
        return self.trainer / "trainer.lock"

    @property
    def daemon_log(self) -> Path:
        return self.logs / "trainer_daemon.log"

    @property
    def daemon_output(self) -> Path:
        """What a daemon that was started on demand prints; its log is another file."""
        return self.logs / "trainer_daemon.out"

    @property
    def gui_token(self) -> Path:
        return self.trainer / "gui.token"

    @property
    def gui_info(self) -> Path:
        return self.trainer / "gui.json"

    @property
    def gui_browsers(self) -> Path:
        """What the GUI keeps for each browser: the theme that was chosen in it."""
        return self.trainer / "gui" / "browsers"

    @property
    def gui_last_training(self) -> Path:
        """What the train form submitted last."""
        return self.trainer / "gui" / "last_training.json"

    def proxy(self, run_id: str) -> ProxyPaths:
        return ProxyPaths(self.trainer / "proxies" / check_run_id(run_id))

    def run_config(self, run_id: str) -> Path:
        return self.configs / f"config-{check_run_id(run_id)}.json"

    def worker_config(self, run_id: str, slot: int) -> Path:
        return self.configs / f"worker-{check_run_id(run_id)}-{slot}.json"

    def run(self, run_id: str, mode: str = "train") -> RunPaths:
        folder = _FOLDER_OF_MODE.get(mode, "runs")
        return RunPaths(self.trainer / folder / check_run_id(run_id))

    def binned(self, run_id: str) -> RunPaths:
        return RunPaths(self.bin / check_run_id(run_id))


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
    def dataset(self) -> Path:
        """What a person played, laid out as in Minari's folder of datasets."""
        return self.root / "dataset"

    @property
    def models(self) -> Path:
        return self.root / "runs"

    @property
    def evaluation_summary(self) -> Path:
        return self.root / "eval_summary.json"

    def relative(self, path: Path) -> str:
        return path.relative_to(self.root).as_posix()


@dataclass(frozen=True, slots=True)
class SweepPaths:
    """The directory of one sweep."""

    root: Path

    @property
    def database(self) -> Path:
        return self.root / "optuna.db"

    @property
    def request(self) -> Path:
        """What was asked for."""
        return self.root / "sweep.json"

    @property
    def lock(self) -> Path:
        """Held by the process that runs the sweep."""
        return self.root / "sweep.lock"

    @property
    def log(self) -> Path:
        return self.root / "sweep.log"


@dataclass(frozen=True, slots=True)
class ProxyPaths:
    """What the proxy of a run keeps: outside the run directory, which its worker claims empty."""

    root: Path

    @property
    def launch(self) -> Path:
        return self.root / "launch.json"

    @property
    def state(self) -> Path:
        return self.root / "proxy.json"

    @property
    def lock(self) -> Path:
        return self.root / "proxy.lock"

    @property
    def log(self) -> Path:
        return self.root / "proxy.log"

    @property
    def worker_stderr(self) -> Path:
        return self.root / "worker.stderr.log"


def run_name(env_id: str, algo: str, seed: int, unix_time: int) -> str:
    """Return CleanRL's name of a run: `<env>__<algo>__<seed>__<time>`."""
    return f"{file_name(env_id)}__{algo}__{seed}__{unix_time}"
