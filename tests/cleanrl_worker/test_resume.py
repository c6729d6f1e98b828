"""Resuming through the worker: what it says, what it writes, what it refuses."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from cleanrl_worker import launcher
from cleanrl_worker.config import CleanRLWorkerConfig
from cleanrl_worker.plan import plan_launch
from mosaic.contracts.errors import ConfigError
from tests.cleanrl_worker.checkpoint_files import document_of, reseal
from tests.cleanrl_worker.conftest import start_worker

RUNS = Path("var/trainer/runs")
SEED = 11
PARENT: dict[str, Any] = {
    "run_id": "parent",
    "algo": "ppo",
    "env_id": "CartPole-v1",
    "total_timesteps": 3072,
    "seed": SEED,
    "extras": {
        "checkpoint_interval": 1000,
        "algo_params": {"num_envs": 1, "num_steps": 128, "learning_rate": 0.001},
    },
}
CUT = 1024


class Home:
    """A directory in which the parent has been trained."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.parent = directory / RUNS / "parent"
        self.checkpoint = self.parent / "checkpoints" / f"step-{CUT}.ckpt"

    def model(self, run_id: str = "parent") -> Path:
        (model,) = (self.directory / RUNS / run_id).glob("runs/*/ppo.cleanrl_model")
        return model

    def resume(
        self, path: Path, *flags: str, algo_params: dict[str, Any] | None = None, **fields: Any
    ) -> subprocess.CompletedProcess[str]:
        """Go on from a path as a new run, with nothing but that and the total in its config."""
        extras: dict[str, Any] = {
            "mode": "resume_training",
            "checkpoint_path": path.relative_to(self.directory).as_posix(),
        }
        if algo_params is not None:
            extras["algo_params"] = algo_params
        config = {**PARENT, "run_id": "child", "seed": None, "extras": extras, **fields}
        return start_worker(self.directory, *flags, config=config)

    def changed_copy(self, tmp_path: Path, **changes: Any) -> Path:
        copy = self.directory / f"changed-{tmp_path.name}.ckpt"
        shutil.copytree(self.checkpoint, copy)
        reseal(copy, **changes)
        return copy


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    directory = tmp_path_factory.mktemp("resume")
    done = start_worker(directory, config=PARENT)
    assert done.returncode == 0, done.stderr
    return Home(directory)


@pytest.fixture(autouse=True)
def _no_child(home: Home) -> None:
    shutil.rmtree(home.directory / RUNS / "child", ignore_errors=True)


def events_of(done: subprocess.CompletedProcess[str], name: str) -> list[dict[str, Any]]:
    events = [json.loads(line) for line in done.stdout.splitlines()]
    return [event["payload"] for event in events if event["event"] == name]


def test_the_manifest_of_the_parent_names_its_checkpoints(home: Home) -> None:
    manifest = json.loads((home.parent / "analytics.json").read_text())
    files = [f"checkpoints/step-{step}.ckpt" for step in (1024, 2048, 3072)]
    found = manifest["artifacts"]["checkpoints"]
    assert (found["directory"], found["files"], found["latest"]) == (
        "checkpoints",
        files,
        files[-1],
    )
    assert found["best"] in files
    assert manifest["checkpoints"] == files
    assert manifest["lineage"] == {"parent_run_id": None, "checkpoint_path": None, "exact": None}


def test_a_resumed_run_ends_where_its_parent_did(home: Home) -> None:
    done = home.resume(home.checkpoint)
    assert done.returncode == 0, done.stderr
    assert done.stderr == "", "nothing differs, so there is nothing to warn of"

    (started,) = events_of(done, "run_started")
    assert (started["seed"], started["mode"]) == (SEED, "resume_training")
    (loaded,) = events_of(done, "checkpoint_loaded")
    assert loaded == {
        "path": str(home.checkpoint),
        "step": CUT,
        "exact": True,
        "weights_only": False,
        "parent_run_id": "parent",
    }
    manifest = json.loads((home.directory / RUNS / "child" / "analytics.json").read_text())
    assert (manifest["seed"], manifest["mode"]) == (SEED, "resume_training")
    assert manifest["lineage"] == {
        "parent_run_id": "parent",
        "checkpoint_path": f"../parent/checkpoints/step-{CUT}.ckpt",
        "exact": True,
    }
    rows = (home.directory / RUNS / "child" / "metrics.jsonl").read_text().splitlines()
    assert json.loads(rows[0])["step"] > CUT, "the step goes on where it stood"
    assert home.model("child").read_bytes() == home.model().read_bytes()


def test_a_saved_model_is_a_start_with_weights_alone(home: Home) -> None:
    done = home.resume(home.model(), algo_params=PARENT["extras"]["algo_params"])
    assert done.returncode == 0, done.stderr
    assert "ppo.cleanrl_model: weights only; optimiser, step and random states" in done.stderr
    (started,) = events_of(done, "run_started")
    assert isinstance(started["seed"], int), "one was drawn"
    (loaded,) = events_of(done, "checkpoint_loaded")
    assert (loaded["step"], loaded["exact"], loaded["weights_only"]) == (0, False, True)
    (completed,) = events_of(done, "run_completed")
    assert completed["manifest"]["lineage"]["exact"] is False


def test_a_state_that_does_not_fit_leaves_nothing_behind(home: Home) -> None:
    done = home.resume(home.checkpoint, algo_params={"shared_trunk": True})
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert f"Checkpoint 'step-{CUT}.ckpt' does not fit this run: agent: " in line
    assert events_of(done, "run_failed")
    assert not (home.directory / RUNS / "child").exists()


def test_a_dry_run_names_what_differs_and_writes_nothing(home: Home, tmp_path: Path) -> None:
    machine = {**document_of(home.checkpoint)["machine"], "torch": "1.0"}
    older = home.changed_copy(tmp_path, machine=machine)
    done = home.resume(
        older, "--dry-run", "--emit-summary", algo_params={"ent_coef": 0.5}, total_timesteps=9999
    )
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert f"--checkpoint-path={older}" in summary["args"]
    assert "--num-envs=1" not in summary["args"], "the algorithm takes it from the checkpoint"
    assert summary["config"]["seed"] == SEED
    warnings = "\n".join(summary["warnings"])
    assert "torch was 1.0, is " in warnings
    assert "ent_coef was 0.01, is 0.5." in warnings
    assert "total_timesteps was 3072, is 9999." in warnings
    assert not (home.directory / RUNS / "child").exists()


class TestRefusedByTheWorker:
    """Before any process is started."""

    def refusal(self, **extras: Any) -> str:
        config = CleanRLWorkerConfig("r", "ppo", "CartPole-v1", 9999, None, extras=extras)
        with pytest.raises(ConfigError) as refused:
            plan_launch(config)
        return refused.value.one_line()

    def resume(self, path: Path | str) -> str:
        return self.refusal(mode="resume_training", checkpoint_path=str(path))

    def test_a_path_without_the_mode_and_the_mode_without_a_path(self) -> None:
        assert "needs extras.mode='resume_training'" in self.refusal(checkpoint_path="x")
        assert "needs extras.checkpoint_path: a chec" in self.refusal(mode="resume_training")

    def test_a_path_that_leads_nowhere(self, home: Home) -> None:
        assert "'gone.ckpt' does not exist" in self.resume("gone.ckpt")
        assert "control character" in self.resume("a\0b")
        assert "give text" in self.resume("")

    def test_a_run_in_place_of_its_checkpoint(self, home: Home) -> None:
        newest = str(home.parent / "checkpoints" / "step-3072.ckpt")
        for path in (home.parent, home.parent / "checkpoints"):
            said = self.resume(path)
            assert "is no checkpoint: it holds no checkpoint.json. Name one of those in it" in said
            assert newest in said

    def test_a_damaged_document(self, home: Home, tmp_path: Path) -> None:
        copy = home.changed_copy(tmp_path)
        text = (copy / "checkpoint.json").read_text()
        (copy / "checkpoint.json").write_text(text.replace('"step": 1024', '"step": 1025'))
        assert "checkpoint.json has another checksum" in self.resume(copy)


class TestRefusedByTheAlgorithm:
    """What only its own process can tell, or tells as well where it runs alone."""

    def refusal(
        self, capsys: pytest.CaptureFixture[str], path: Path, *flags: str, algo: str = "ppo"
    ) -> str:
        total = () if any("total" in flag for flag in flags) else ("--total-timesteps=3072",)
        code = launcher.main([algo, f"--checkpoint-path={path}", *total, *flags])
        assert code == 2
        (line,) = capsys.readouterr().err.splitlines()
        return line

    @pytest.fixture(autouse=True)
    def _in_an_empty_directory(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
        monkeypatch.chdir(tmp_path)
        before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
        yield
        for number, handler in before.items():
            signal.signal(number, handler)
        assert not list(tmp_path.rglob("*.*")), "nothing is left behind"

    def test_another_algorithm(self, home: Home, capsys: pytest.CaptureFixture[str]) -> None:
        said = self.refusal(capsys, home.checkpoint, algo="ppo_continuous_action")
        assert said == (
            f"Checkpoint 'step-{CUT}.ckpt' is of 'ppo', not of 'ppo_continuous_action'."
        )

    @pytest.mark.parametrize(
        ("flag", "says"),
        [
            ("--env-id=Acrobot-v1", "env_id='Acrobot-v1' differs from the checkpoint's 'CartPole"),
            ("--seed=5", "seed=5 differs from the checkpoint's 11: give that."),
            ("--total-timesteps=1000", "total_timesteps=1000 is below the checkpoint's step 1024"),
            ("--checkpoint-interval=10", "checkpoint_interval=10 is too short"),
            ("--shared-trunk", "does not fit this run: agent: "),
        ],
    )
    def test_another_run(
        self, home: Home, capsys: pytest.CaptureFixture[str], flag: str, says: str
    ) -> None:
        assert says in self.refusal(capsys, home.checkpoint, flag)

    def test_damaged_tensors(
        self, home: Home, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        copy = home.changed_copy(tmp_path)
        with (copy / "state.safetensors").open("r+b") as file:
            file.truncate(1000)
        assert "state.safetensors has 1000 bytes, not " in self.refusal(capsys, copy)

    def test_a_model_of_another_shape(self, home: Home, capsys: pytest.CaptureFixture[str]) -> None:
        said = self.refusal(capsys, home.model(), "--env-id=Acrobot-v1", "--num-envs=1")
        assert said.startswith(
            "The policy 'ppo.cleanrl_model' does not fit MLPAgent: size mismatch"
        )
