"""A sweep: trials are runs of the daemon, bad ones are ended, and the study can be read."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shlex
import signal
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from mosaic.cli.main import main
from mosaic.contracts.errors import ConfigError, MosaicError
from mosaic.proto import trainer_pb2 as pb
from mosaic.sweeps.reading import Study, read_study
from mosaic.sweeps.starting import is_conducted
from tests.trainer.daemons import Daemon, processes_of

STUDY = "search"


@pytest.fixture
def var(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MOSAIC_VAR_DIR", str(daemon.paths.root))
    return daemon.paths.root


def mosaic(command: str) -> tuple[int, str]:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        code = main(shlex.split(command))
    return code, out.getvalue()


def sweep(words: str) -> dict[str, Any]:
    command = f"sweep tick --env-id Score-v0 --total-timesteps 1000 --study {STUDY} {words} --json"
    code, out = mosaic(command)
    assert code == 0, out
    return dict(json.loads(out))


def runs_of(daemon: Daemon) -> dict[str, pb.Run]:
    return {run.run_id: run for run in daemon.call("ListRuns", pb.ListRunsRequest()).runs}


def test_trials_are_runs_and_hopeless_ones_are_ended(daemon: Daemon, var: Path) -> None:
    told = sweep(
        "--trials 8 --parallel 4 --seeds 1,3 --sampler grid --only "
        "--search rate=900,800,700,600,5,4,3,2 --no-defaults-first --sampler-seed 1"
    )
    trials = {trial["params"]["rate"]: trial for trial in told["trials"]}
    assert len(trials) == 8
    best = trials[900]
    assert (best["state"], best["value"]) == ("COMPLETE", 902.0), "the mean of its seeds"
    assert told["trials"][0] == best, "sorted by the objective"
    assert told["best"] == best["number"]
    assert "--rate=900" in told["command"]
    assert mosaic(f"sweep --show {STUDY}")[1].splitlines()[-1] == told["command"]
    runs = runs_of(daemon)
    assert sorted(runs) == sorted(run for trial in trials.values() for run in trial["run_ids"])
    for trial in trials.values():
        assert len(trial["run_ids"]) == 2
        outcomes = {runs[run_id].outcome for run_id in trial["run_ids"]}
        assert (outcomes == {"succeeded"}) == (trial["state"] == "COMPLETE")
        assert not any(processes_of(run_id) for run_id in trial["run_ids"])
    pruned = [trial for trial in trials.values() if trial["state"] == "PRUNED"]
    assert pruned
    assert min(trial["params"]["rate"] for trial in pruned) < 10
    assert all(len(trial["reports"]) < 10 for trial in pruned)


@pytest.mark.slow
@pytest.mark.parametrize("while_submitting", [False, True])
def test_a_sweep_that_was_killed_goes_on(daemon: Daemon, var: Path, while_submitting: bool) -> None:
    code, _ = mosaic(
        f"sweep tick --env-id Score-v0 --total-timesteps 1000 --trials 3 --study {STUDY} --detach"
    )
    assert code == 0
    own = daemon.paths.sweep(STUDY)
    daemon.wait(lambda: bool(runs_of(daemon)), "the first trial")
    os.kill(int(own.lock.read_text()), signal.SIGKILL)
    daemon.wait(lambda: not is_conducted(own), "the end of the sweep")
    if while_submitting:  # between the daemon's answer and the note of it
        with contextlib.closing(sqlite3.connect(own.database)) as connection, connection:
            connection.execute("DELETE FROM trial_user_attributes WHERE key = 'run_ids'")
    code, out = mosaic(f"sweep --resume {STUDY[:3]} --json")
    assert code == 0, out
    told = json.loads(out)
    assert [trial["state"] for trial in told["trials"]].count("COMPLETE") >= 1
    assert len(told["trials"]) == 3
    assert len(runs_of(daemon)) == 3, "the trial that was under way is not begun again"
    defaults = next(trial for trial in told["trials"] if trial["number"] == 0)
    assert defaults["params"]["rate"] == 100.0


@pytest.mark.slow
def test_a_sweep_outlives_the_daemon(daemon: Daemon, var: Path) -> None:
    """A daemon that is killed is started again by the sweep, and no trial is lost or doubled."""
    mosaic(
        f"sweep tick --env-id Score-v0 --total-timesteps 1000 --trials 3 --study {STUDY} --detach"
    )
    own = daemon.paths.sweep(STUDY)
    daemon.wait(lambda: bool(runs_of(daemon)), "the first trial")
    daemon.kill()
    try:
        daemon.wait(lambda: not is_conducted(own), "the end of the sweep", 90)
        runs = json.loads(mosaic("ps --all --json")[1])
        trials = read_study(own.database).trials
    finally:
        assert mosaic("daemon stop")[0] == 0
    assert {trial.state for trial in trials} <= {"COMPLETE", "PRUNED"}
    assert sorted(run["run_id"] for run in runs) == sorted(
        run_id for trial in trials for run_id in trial.run_ids
    )
    assert len(runs) == 3


@pytest.mark.slow
def test_a_sweep_is_stopped_with_its_trials(daemon: Daemon, var: Path) -> None:
    mosaic(f"sweep tick --env-id Score-v0 --total-timesteps 100000 --study {STUDY} --detach")
    own = daemon.paths.sweep(STUDY)
    daemon.wait(lambda: bool(runs_of(daemon)), "the first trial")
    assert "under way" in mosaic("sweep --list")[1]
    assert "told to stop" in mosaic(f"sweep --stop {STUDY}")[1]
    daemon.wait(lambda: not is_conducted(own), "the end of the sweep")
    [run] = runs_of(daemon).values()
    assert run.outcome == "cancelled"
    [trial] = [each for each in read_study(own.database).trials if each.state != "WAITING"]
    assert (trial.state, trial.attributes["reason"]) == ("FAIL", "the sweep was stopped")


@pytest.mark.slow
def test_trials_that_all_fail_end_the_sweep(daemon: Daemon, var: Path) -> None:
    command = f"sweep tick --env-id Fail-v0 --total-timesteps 100 --study {STUDY} --parallel 3"
    code, _ = mosaic(f"{command} --trials 50")
    assert code == 1
    assert len(runs_of(daemon)) < 10


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("--search speed=1..2", "no parameter 'speed'"),
        ("--search rate=2..1", "search='rate=2..1' is not allowed"),
        ("--search rate=0..1:log", "rate=0.0 is not allowed"),
        ("--search rate", "search='rate' is not allowed"),
        ("--rate 3 --search rate=1..2", "fixed and searched at once"),
        ("--sampler grid", "needs choices"),
        ("--objective charts/fame", "is no metric"),
        ("--seed 1", "is for one run"),
        ("--trials 0", "trials=0 is not allowed"),
        ("--sampler best", "one of tpe, random, grid"),
        ("--study ../x", "is not allowed"),
        ("--only", "no search space"),
    ],
)
def test_bad_words_are_refused_before_anything_is_written(
    ticker: None, var_dir: Path, capsys: pytest.CaptureFixture[str], words: str, complaint: str
) -> None:
    code, _ = mosaic(f"sweep tick --env-id Score-v0 {words}")
    assert code == 2
    error = capsys.readouterr().err
    assert complaint in error
    assert error.count("\n") == 1
    assert list(var_dir.iterdir()) == []


def test_a_file_of_cleanrls_tuner_can_be_opened(
    var_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its names have hyphens, its trials no runs of ours."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    file = tmp_path / "cleanrl_hpopt.db"
    study = optuna.create_study(
        study_name="CartPole-v1 tuned", storage=f"sqlite:///{file}", direction="maximize"
    )
    for value in (1.0, 3.0, 2.0):
        trial = study.ask()
        trial.suggest_float("learning-rate", 3e-4, 3e-3, log=True)
        trial.suggest_categorical("num-steps", [16, 32])
        trial.report(value / 2, step=0)
        study.tell(trial, value)
    before = file.read_bytes()
    code, out = mosaic(f"sweep --open {file} --json")
    assert code == 0
    told = json.loads(out)
    assert [trial["value"] for trial in told["trials"]] == [3.0, 2.0, 1.0]
    assert told["trials"][0]["params"]["num-steps"] in (16, 32)
    assert "CartPole-v1-tuned" in mosaic("sweep --list")[1]
    assert file.read_bytes() == before
    assert mosaic("sweep --resume CartPole-v1-tuned")[0] == 2
    (tmp_path / "other.db").write_bytes(b"no database" * 100)
    with contextlib.closing(sqlite3.connect(tmp_path / "empty.db")) as connection:
        connection.execute("CREATE TABLE t (x)")
    for name in ("other.db", "empty.db", "absent.db"):
        assert mosaic(f"sweep --open {tmp_path / name}")[0] == 2


def test_reading_never_writes(tmp_path: Path) -> None:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    file = tmp_path / "optuna.db"
    optuna.create_study(study_name="a", storage=f"sqlite:///{file}")
    file.chmod(0o400)
    tmp_path.chmod(0o500)
    try:
        study: Study = read_study(file)
    finally:
        tmp_path.chmod(0o700)
    assert (study.name, study.trials, study.is_maximised) == ("a", [], False)
    with pytest.raises(ConfigError, match="does not exist"):
        read_study(tmp_path / "b.db")


@pytest.mark.parametrize(
    "slow",
    [
        "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x, x AS y FROM n",
        "SELECT 1 AS study_id, hex(zeroblob(400000000)) AS study_name",
    ],
)
def test_a_file_made_to_be_slow_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slow: str
) -> None:
    monkeypatch.setattr("mosaic.sweeps.reading._READING_S", 0.2)
    file = tmp_path / "optuna.db"
    with contextlib.closing(sqlite3.connect(file)) as connection:
        connection.execute(f"CREATE VIEW studies (study_id, study_name) AS {slow}")
        for name in ("trials", "trial_params", "trial_values"):
            connection.execute(f"CREATE TABLE {name} (study_id)")
    with pytest.raises(MosaicError, match=r"optuna\.db"):
        read_study(file)
