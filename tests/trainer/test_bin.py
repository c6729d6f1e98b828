"""The bin: deleted runs come back whole, and a crash in between loses nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from mosaic.contracts.errors import ConfigError, StorageError
from mosaic.contracts.paths import VarPaths
from mosaic.contracts.run_files import write_run_files
from mosaic.trainer import bin


@pytest.fixture
def paths(tmp_path: Path) -> VarPaths:
    return VarPaths(tmp_path / "var")


def make_run(paths: VarPaths, run_id: str, mode: str = "train") -> Path:
    run = paths.run(run_id, mode)
    run.logs.mkdir(parents=True)
    run.stderr_log.write_text("a line\n")
    paths.proxy(run_id).root.mkdir(parents=True)
    paths.proxy(run_id).log.touch()
    write_run_files(paths, {}, {"run_id": run_id})
    return run.root


def files(paths: VarPaths) -> list[str]:
    return sorted(str(p.relative_to(paths.root)) for p in paths.root.rglob("*") if p.is_file())


@pytest.mark.parametrize("mode", ["train", "policy_eval"])
def test_into_the_bin_and_back(paths: VarPaths, mode: str) -> None:
    home = make_run(paths, "a", mode)
    before = files(paths)
    bin.move_in(paths, "a", mode)
    assert not home.exists()
    assert paths.binned("a").stderr_log.read_text() == "a line\n"
    bin.move_out(paths, "a", mode)
    assert files(paths) == before


def test_a_move_that_a_crash_interrupted_is_finished_at_the_next_start(paths: VarPaths) -> None:
    """The row is marked first, so that the daemon repeats the move of every marked run."""
    make_run(paths, "before")  # marked, and not moved yet
    make_run(paths, "after")
    bin.move_in(paths, "after", "train")  # moved, and not acknowledged
    for run_id in ("before", "after", "without-files"):
        bin.move_in(paths, run_id, "train")
    assert sorted(path.name for path in paths.bin.iterdir()) == ["after", "before"]
    assert list(paths.runs.iterdir()) == []


def test_a_restore_that_a_crash_interrupted_leaves_the_run_in_the_bin(paths: VarPaths) -> None:
    make_run(paths, "a")
    bin.move_in(paths, "a", "train")
    bin.move_out(paths, "a", "train")  # and the row still says deleted
    bin.move_in(paths, "a", "train")
    assert paths.binned("a").stderr_log.is_file()


def test_a_purge_leaves_nothing_of_the_run_and_touches_no_other(paths: VarPaths) -> None:
    make_run(paths, "other")
    others = files(paths)
    make_run(paths, "a")
    bin.move_in(paths, "a", "train")
    bin.purge(paths, "a", "train")
    bin.purge(paths, "a", "train")
    assert files(paths) == others
    make_run(paths, "b")
    bin.purge(paths, "b", "train")  # one that was never in the bin
    assert files(paths) == others


def test_a_purge_does_not_follow_links(paths: VarPaths, tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").touch()
    home = make_run(paths, "a")
    (home / "link").symlink_to(tmp_path / "precious")
    bin.purge(paths, "a", "train")
    assert (tmp_path / "precious" / "file").exists()


def test_a_run_in_two_places_is_left_alone(paths: VarPaths) -> None:
    make_run(paths, "a")
    paths.binned("a").root.mkdir(parents=True)
    with pytest.raises(StorageError, match="lies in two places"):
        bin.move_in(paths, "a", "train")
    assert paths.run("a").stderr_log.is_file()


@pytest.mark.parametrize("run_id", ["", "..", "a/b", "/etc", "a\0"])
def test_a_name_that_is_no_run_id_reaches_no_file(paths: VarPaths, run_id: str) -> None:
    for act in (bin.move_in, bin.move_out, bin.purge):
        with pytest.raises(ConfigError):
            act(paths, run_id, "train")
