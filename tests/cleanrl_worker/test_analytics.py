"""The manifest: every key from the first second, and what is found in the run directory."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

import pytest

from cleanrl_worker.analytics import RunManifest, find_checkpoints, find_policy, find_videos
from cleanrl_worker.config import CleanRLWorkerConfig
from mosaic.contracts.manifest import RunStatus
from mosaic.contracts.paths import RunPaths
from mosaic.contracts.worker_config import Reservation
from tests.cleanrl_worker.fake_algorithm import write_document

# contract.md, section 7.
KEYS = {
    "schema_version", "run_id", "worker_type", "algo", "env_id", "seed", "mode", "status",
    "artifacts", "metrics", "resources", "requirements", "lineage", "curriculum", "notes",
    "tensorboard_dir", "wandb_run_path", "wandb_run_id", "optuna_db_path", "checkpoints_dir",
    "checkpoints",
}  # fmt: skip
INNER_KEYS = {
    "artifacts": {"tensorboard", "wandb", "optuna", "checkpoints", "policy", "videos", "logs"},
    "metrics": {"final"},
    "resources": {"reserved", "peak_rss_mb", "peak_gpu_mb", "steps_per_second"},
    "requirements": {"bundle", "packages"},
    "lineage": {"parent_run_id", "checkpoint_path", "exact"},
}
ARTIFACT_KEYS = {
    "tensorboard": {"enabled", "relative_path"},
    "wandb": {"enabled", "run_path", "run_id", "entity", "project", "mode", "relative_path"},
    "optuna": {"db_path", "study_name"},
    "checkpoints": {"directory", "latest", "best", "files"},
    "policy": {"path"},
    "videos": {"directory", "files"},
}


@pytest.fixture
def paths(tmp_path: Path) -> RunPaths:
    return RunPaths(tmp_path)


def manifest_of(paths: RunPaths, **extras: Any) -> RunManifest:
    config = CleanRLWorkerConfig(
        run_id="run-1",
        algo="ppo",
        env_id="CartPole-v1",
        total_timesteps=10,
        seed=3,
        extras=extras,
        reservation=Reservation(2, 900, 0),
    )
    return RunManifest(config, paths)


def test_every_key_is_there_from_the_first_second(paths: RunPaths) -> None:
    document = manifest_of(paths).document(RunStatus.RUNNING)
    assert set(document) == KEYS
    for name, keys in INNER_KEYS.items():
        assert set(document[name]) == keys
    for name, keys in ARTIFACT_KEYS.items():
        assert set(document["artifacts"][name]) == keys
    assert document["status"] == "running"
    assert document["resources"]["reserved"] == {"cpus": 2, "memory_mb": 900, "gpus": 0}
    assert document["requirements"]["packages"]["gymnasium"]


def test_paths_are_relative_to_the_run_directory(paths: RunPaths) -> None:
    (paths.checkpoints / "step-9.ckpt").mkdir(parents=True)
    (paths.videos).mkdir()
    (paths.videos / "a.mp4").write_bytes(b"")
    text = json.dumps(manifest_of(paths).document(RunStatus.RUNNING))
    assert str(paths.root) not in text


def test_checkpoints_are_listed_by_step(paths: RunPaths) -> None:
    for step in (900, 1000, 10):
        write_document(paths.checkpoints, step)
    for name in ("replay", "step-x.ckpt", ".step-1100.ckpt.7.tmp"):
        (paths.checkpoints / name).mkdir()
    found = find_checkpoints(paths)
    assert found.files == tuple(f"checkpoints/step-{step}.ckpt" for step in (10, 900, 1000))
    assert found.latest == "checkpoints/step-1000.ckpt"
    assert found.best is None


def test_the_extra_checkpoint_of_a_stop_is_listed_and_is_neither_latest_nor_best(
    paths: RunPaths,
) -> None:
    write_document(paths.checkpoints, 100, mean_return=5.0)
    write_document(paths.checkpoints, 130, mean_return=9.0, exact=False)
    found = find_checkpoints(paths)
    assert found.files == ("checkpoints/step-100.ckpt", "checkpoints/step-130.ckpt")
    assert found.latest == found.best == "checkpoints/step-100.ckpt"


def test_a_checkpoint_that_somebody_damaged_is_left_out(paths: RunPaths) -> None:
    write_document(paths.checkpoints, 100)
    damaged = write_document(paths.checkpoints, 200) / "checkpoint.json"
    damaged.write_bytes(damaged.read_bytes()[:-9])
    assert find_checkpoints(paths).files == ("checkpoints/step-100.ckpt",)


def test_the_best_checkpoint_is_the_one_with_the_highest_mean_return(paths: RunPaths) -> None:
    for step, score in enumerate([5, 7.5, None, "nan"]):
        write_document(paths.checkpoints, step, mean_return=score)
    assert find_checkpoints(paths).best == "checkpoints/step-1.ckpt"


def test_the_lineage_of_a_resumed_run(tmp_path: Path) -> None:
    paths = RunPaths(tmp_path / "trainer" / "runs" / "child")
    manifest = manifest_of(paths)
    parent = paths.root.parent / "parent" / "checkpoints" / "step-9.ckpt"
    manifest.came_from({"path": str(parent), "parent_run_id": "parent", "exact": True})
    assert manifest.document(RunStatus.RUNNING)["lineage"] == {
        "parent_run_id": "parent",
        "checkpoint_path": "../parent/checkpoints/step-9.ckpt",
        "exact": True,
    }


def test_the_newest_model_is_the_policy(paths: RunPaths) -> None:
    assert find_policy(paths) is None
    for number, name in enumerate(("a", "b")):
        model = paths.models / name / "ppo.cleanrl_model"
        model.parent.mkdir(parents=True)
        model.write_bytes(b"")
        os.utime(model, (number, number))
    assert find_policy(paths) == "runs/b/ppo.cleanrl_model"


def test_videos_are_found_in_their_folders(paths: RunPaths) -> None:
    (paths.videos / "run-1-eval").mkdir(parents=True)
    (paths.videos / "run-1-eval" / "0.mp4").write_bytes(b"")
    assert find_videos(paths).files == ("videos/run-1-eval/0.mp4",)


def test_extras_that_are_for_the_manifest_alone(paths: RunPaths) -> None:
    document = manifest_of(
        paths, notes="try", optuna_db="../s.db", wandb_run_path="a/b/c", tensorboard_dir=None
    ).document(RunStatus.RUNNING)
    assert document["notes"] == "try"
    assert document["optuna_db_path"] == document["artifacts"]["optuna"]["db_path"] == "../s.db"
    assert document["wandb_run_path"] == "a/b/c"
    assert document["artifacts"]["tensorboard"] == {"enabled": False, "relative_path": None}
    assert document["tensorboard_dir"] is None


def test_a_nan_does_not_keep_the_manifest_from_disk(paths: RunPaths) -> None:
    manifest = manifest_of(paths)
    manifest.save(manifest.document(RunStatus.FAILED, final_values={"losses/value_loss": math.nan}))
    document = json.loads(paths.manifest.read_text())
    assert document["metrics"]["final"] == {"losses/value_loss": "nan"}
