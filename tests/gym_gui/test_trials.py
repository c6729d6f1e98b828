"""Which study the tab Trials opens, and that an imported run cannot choose another file."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from gym_gui.tabs.trials import study_file
from mosaic.contracts.errors import ConfigError
from mosaic.contracts.paths import VarPaths
from mosaic.proto import trainer_pb2 as pb
from mosaic.sweeps.reading import read_study

RUN = "01TRIALS0000000000000000AA"


@pytest.fixture
def paths(tmp_path: Path) -> VarPaths:
    paths = VarPaths(tmp_path / "var")
    paths.run(RUN).root.mkdir(parents=True)
    plant_study(paths.sweep("STUDY").database)
    return paths


def plant_study(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE studies (study_id)")


def run_naming(paths: VarPaths, manifest: Any = None, extra: Any = None) -> pb.RunDetails:
    """Return a run as it is after an import, whose author wrote what stands in both documents."""
    config = {"run_id": RUN, "extras": {"optuna_db": extra}}
    return pb.RunDetails(
        run_dir=str(paths.run(RUN).root),
        manifest_json=json.dumps({"artifacts": {"optuna": {"db_path": manifest}}}),
        config_json=json.dumps({"metadata": {"worker": {"config": config}}}),
    )


def test_a_study_of_this_installation_is_found(paths: VarPaths) -> None:
    own = paths.sweep("STUDY").database
    assert study_file(run_naming(paths, "../../sweeps/STUDY/optuna.db"), paths) == own
    assert study_file(run_naming(paths, str(own)), paths) == own
    assert study_file(run_naming(paths, extra=str(own)), paths) == own


def test_a_study_inside_the_run_is_found(paths: VarPaths) -> None:
    inside = paths.run(RUN).root / "tuning" / "study.db"
    assert study_file(run_naming(paths, "tuning/study.db"), paths) == inside


@pytest.mark.parametrize("named", [None, "", 3, ["a"]])
def test_a_run_that_names_none_has_none(paths: VarPaths, named: Any) -> None:
    assert study_file(run_naming(paths, named, named), paths) is None
    assert study_file(pb.RunDetails(run_dir=str(paths.run(RUN).root)), paths) is None


@pytest.mark.parametrize(
    "named",
    [
        "{tmp}/private.db",
        "../../../../private.db",
        "link.db",
        "folder/private.db",
        "{tmp}/STUDY/optuna.db",
        "../../sweeps/STUDY/other.db",
        "../../sweeps/STUDY/deeper/optuna.db",
        "../../sweeps/optuna.db",
        "../../trainer.sqlite",
        "../OTHER/study.db",
        "a\0b",
    ],
)
def test_an_imported_run_opens_no_other_file(paths: VarPaths, tmp_path: Path, named: str) -> None:
    root = paths.run(RUN).root
    for name in ("private.db", "STUDY/optuna.db"):
        plant_study(tmp_path / name)
    (root / "link.db").symlink_to(tmp_path / "private.db")
    (root / "folder").symlink_to(tmp_path)
    named = named.format(tmp=tmp_path)
    for details in (run_naming(paths, manifest=named), run_naming(paths, extra=named)):
        with pytest.raises(ConfigError, match="neither in the run's directory nor in") as refused:
            study_file(details, paths)
        line = refused.value.one_line()
        assert repr(named) in line
        assert "mosaic sweep --open" in line


def test_a_name_that_no_file_can_have_is_one_line(paths: VarPaths) -> None:
    named = study_file(run_naming(paths, "x" * 300), paths)
    assert named is not None
    with pytest.raises(ConfigError, match="does not exist"):
        read_study(named)
