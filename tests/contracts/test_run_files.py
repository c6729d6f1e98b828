"""The config files of a run: slots that nobody shares, and a clean way back."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from cleanrl_worker import get_worker_metadata
from mosaic.contracts.identifiers import new_run_id
from mosaic.contracts.paths import VarPaths
from mosaic.contracts.run_config import run_config_for
from mosaic.contracts.run_files import RunFiles, write_run_files


def write_files(paths: VarPaths, **extras: object) -> RunFiles:
    config = {"run_id": new_run_id(), "algo": "ppo", "env_id": "E", "extras": extras}
    run_config = run_config_for(config, get_worker_metadata())
    return write_run_files(paths, run_config.to_json(), config)


def write(paths: VarPaths, **extras: object) -> Path:
    return write_files(paths, **extras).worker_config


def slot(path: Path) -> int:
    return int(path.stem.rsplit("-", 1)[1])


def test_slots_count_up_over_all_runs(tmp_path: Path) -> None:
    paths = VarPaths(tmp_path)
    assert [slot(write(paths)) for _ in range(3)] == [0, 1, 2]


def test_two_starters_never_take_the_same_slot(tmp_path: Path) -> None:
    paths = VarPaths(tmp_path)
    with ThreadPoolExecutor(8) as pool:
        slots = list(pool.map(lambda _: slot(write(paths)), range(40)))
    assert sorted(slots) == list(range(40))


def test_secrets_are_in_neither_file(tmp_path: Path) -> None:
    path = write(VarPaths(tmp_path), wandb_api_key="c4n4ry", algo_params={"x_token": "c4n4ry"})
    assert json.loads(path.read_text())["extras"]["wandb_api_key"] == "***"
    assert not [file for file in path.parent.iterdir() if "c4n4ry" in file.read_text()]


def test_a_way_back_that_takes_only_what_is_ours(tmp_path: Path) -> None:
    paths = VarPaths(tmp_path / "var")
    files = write_files(paths)
    assert files.run_config.is_file()
    files.remove()
    assert list(tmp_path.iterdir()) == []

    kept = write(paths)
    write_files(paths).remove()
    assert kept.is_file()


def test_a_start_that_is_repeated_keeps_its_slot(tmp_path: Path) -> None:
    paths = VarPaths(tmp_path)
    config = {"run_id": "again-1", "algo": "ppo", "env_id": "E"}
    nested = {"metadata": {"worker": {"config": config}}}
    first = write_run_files(paths, nested, nested)
    write(paths)
    assert write_run_files(paths, nested, nested).worker_config == first.worker_config
    assert slot(first.worker_config) == 0
    assert slot(write(paths)) == 2
