"""`mosaic algos` and `mosaic workers`."""

from __future__ import annotations

import json

import pytest

from mosaic.cli.main import main

pytestmark = pytest.mark.usefixtures("toy_worker")


def test_algorithms_of_every_worker_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["algos"]) == 0
    text = capsys.readouterr().out
    assert "Learns nothing, quickly." in text
    assert "ppo" in text
    assert "CartPole-v1" in text


def test_one_algorithm_with_its_parameters(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["algos", "toy"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "toy: Learns nothing, quickly."
    assert "needs: pip install 'mosaic-rl[toys]'" in lines
    assert "optimiser:" in lines
    assert "  --learning-rate  0.01  0 to 1  Learning rate." in lines
    assert "tuned for Toy-v0, used with --tuned:" in lines


def test_both_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["algos", "--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["toy"]["tuned"] == ["Toy-v0"]
    assert rows["toy"]["worker"] == "toy"
    assert main(["algos", "toy", "--json"]) == 0
    one = json.loads(capsys.readouterr().out)
    assert one["tuned"][0]["values"]["num_envs"] == 2
    assert {field["name"] for field in one["fields"]} >= {"learning_rate", "target_kl"}


def test_an_unknown_algorithm_is_named_with_the_nearest(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["algos", "toyy"]) == 2
    line = capsys.readouterr().err
    assert "algo='toyy' is unknown. Did you mean 'toy'?" in line
    assert "broken (ModuleNotFoundError" in line


@pytest.mark.parametrize("width", ["40", "60", "80", "120"])
def test_parameters_fit_the_terminal(
    width: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", width)
    assert main(["algos", "ppo"]) == 0
    assert main(["train", "ppo", "--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.startswith("  ") and len(line) > int(width)] == []


def test_workers_are_listed_with_those_that_are_unavailable(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["workers"]) == 0
    text = capsys.readouterr().out
    assert "toy_worker.cli" in text
    assert "unavailable" in text
    assert "No module named 'a_package_that_nobody_has'" in text
    assert main(["workers", "--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["toy"]["available"]
    assert rows["toy"]["capabilities"]["lane"] == "analytics"
    assert not rows["broken"]["available"]
