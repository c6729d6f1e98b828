"""What the page of a sweep shows, made from trials."""

from __future__ import annotations

from pathlib import Path

import pytest

from gym_gui.sweep_data import history, importances, parallel, read_sweep, trial_rows
from gym_gui.widgets.pair_chart import thinned
from mosaic.contracts.paths import VarPaths
from mosaic.sweeps.reading import Study, Trial


def study() -> Study:
    """Return trials whose value is ten times one choice, whatever the other."""
    trials = [
        Trial(number, "COMPLETE", {"good": number % 3, "idle": number % 2}, 10.0 * (number % 3))
        for number in range(12)
    ]
    trials.append(Trial(12, "PRUNED", {"good": 0, "idle": 1}, None, {1: 0.0}))
    trials.append(Trial(13, "RUNNING", {"good": 2, "idle": 1}, attributes={"run_ids": ["RUN"]}))
    trials.append(Trial(14, "FAIL", {}, attributes={"reason": "a wrong setting"}))
    return Study("s", True, trials)


def test_trials_are_sorted_by_the_objective() -> None:
    rows = trial_rows(study())
    assert [row["number"] for row in rows[:4]] == [2, 5, 8, 11]
    assert [row["state"] for row in rows[-3:]] == ["pruned", "running", "fail"]
    assert rows[-2]["run"] == "RUN"
    assert rows[-1]["reason"] == "a wrong setting"


def test_what_mattered() -> None:
    shares = importances(study())
    assert list(shares) == ["good", "idle"]
    assert shares["good"] == pytest.approx(1.0)
    assert shares["idle"] < 0.1
    assert importances(Study("s", True, study().trials[:3])) == {}


def test_history_and_coordinates() -> None:
    values, bests = history(study())
    assert values[2] == [2, 20.0]
    assert [best for _, best in bests] == [0.0, 10.0, *[20.0] * 10]
    minimised = Study("s", False, study().trials)
    assert history(minimised)[1][-1][1] == 0.0
    axes, lines = parallel(study())
    assert [axis["name"] for axis in axes] == ["good", "idle", "objective"]
    assert axes[0]["data"] == ["0", "1", "2"]
    assert lines[2] == ["2", "0", 20.0]
    rates = Study("s", True, [Trial(n, "COMPLETE", {"lr": 10.0**-n}, 1.0) for n in range(1, 9)])
    assert parallel(rates)[0][0]["type"] == "log"


def test_a_sweep_without_files_is_empty(tmp_path: Path) -> None:
    view = read_sweep(VarPaths(tmp_path), "absent")
    assert (view.study, view.request, view.is_under_way) == (None, None, False)
    assert "no trial yet" in view.summary


def test_thinning_keeps_the_extremes() -> None:
    pairs = [(float(x), 0.0) for x in range(100_000)]
    pairs[54_321] = (54_321.0, 9.0)
    kept = thinned(pairs)
    assert len(kept) <= 1000
    assert [54_321.0, 9.0] in kept
    assert kept == sorted(kept)
