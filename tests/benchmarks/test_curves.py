"""Training returns of two sides at equal steps: what is read, what is shown, what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from comparison.curves import Curve, Episode, main, picture, read_curves, table

from mosaic.contracts.errors import EXIT_CONFIG, EXIT_OK


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Make a run of ours to step 3,000, and one of CleanRL's half as far."""
    home = tmp_path / "runs" / "ours-td3-1" / "runs" / "Hopper"
    home.mkdir(parents=True)
    rows = [{"step": step, "values": {"charts/episodic_return": 2.0}} for step in range(100, 3000)]
    rows += [{"step": 5, "values": {"losses/loss": 1.0}}]
    rows += [{"step": 0, "values": {"eval/episodic_return": 9.0}}]
    half_written = '{"step": 7, "val'
    text = "".join(json.dumps(row) + "\n" for row in rows) + half_written
    (home / "metrics.jsonl").write_text(text)
    theirs = tmp_path / "runs" / "cleanrl-td3-2"
    theirs.mkdir()
    printed = (f"global_step={step}, episodic_return=[1.]\n" for step in range(10, 1500, 10))
    (theirs / "out.log").write_text("SPS: 100\n" + "".join(printed) + "global_step=15")
    return tmp_path / "runs"


def test_both_sides_stand_in_one_table(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    svg = runs.parent / "curves.svg"
    assert main([str(runs), "--every=1000", "--steps=3000", f"--picture={svg}"]) == EXIT_OK
    assert capsys.readouterr().out.splitlines()[2:] == [
        "| `td3` | ours | 1 | 2 | 2 | 2 | 2 to 1k | 9 |",
        "| `td3` | cleanrl | 2 | 1 | 1 | – | 1 to 1k | – |",
    ]
    lines = ElementTree.parse(svg).getroot().findall("{http://www.w3.org/2000/svg}polyline")
    assert len(lines) == 2


def test_a_mean_is_over_the_last_twenty_episodes_by_then() -> None:
    curve = Curve("ours", "sac", 1, tuple(Episode(10 * n, float(n)) for n in range(1, 101)))
    assert curve.mean_at(500) == pytest.approx(sum(range(31, 51)) / 20)
    assert curve.mean_at(30) == pytest.approx(2.0)
    assert curve.mean_at(5) is None
    assert curve.mean_at(2001) is None, "no episode says that the run came so far"
    assert "| 70 |" in table([curve], [800])
    assert "sac" in picture([curve], 1000)


def test_a_folder_that_names_no_run_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "videos").mkdir()
    assert main([str(tmp_path)]) == EXIT_CONFIG
    assert "'videos' names no run. Name it <ours|cleanrl>" in capsys.readouterr().err


def test_runs_without_an_episode_are_refused(runs: Path) -> None:
    assert len(read_curves(runs)) == 2
    (runs / "ours-td3-1" / "runs" / "Hopper" / "metrics.jsonl").write_text("")
    (runs / "cleanrl-td3-2" / "out.log").write_text("")
    assert main([str(runs)]) == EXIT_CONFIG
