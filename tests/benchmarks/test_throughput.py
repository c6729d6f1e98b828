"""The comparison with CleanRL: what it reads, what it reckons, what it refuses."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import throughput
import torch
from comparison import matmul_probe
from comparison.interpreters import Interpreter
from comparison.measuring import (
    NotMeasured,
    Point,
    parse_settings,
    read_recording,
    shared_settings,
    steps_per_second,
)
from comparison.report import Measured, Result, details, document, summary, table
from comparison.rows import DEFAULT_ALGOS, ROWS, Row
from comparison.sides import CleanRL, Ours, Task

from cleanrl_worker.recipes import RECIPES
from cleanrl_worker.tensorboard import TensorBoardWriter
from mosaic.contracts.errors import ConfigError, DependencyMissing

PYTHON = Path(sys.executable)


@pytest.fixture(autouse=True)
def no_cleanrl_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CLEANRL_HOME", raising=False)
    monkeypatch.delenv("CLEANRL_PYTHON", raising=False)


def test_speed_is_taken_over_the_second_half_of_the_learning_phase() -> None:
    row = Row("dqn", "CartPole-v1", steps=20_000, probe_steps=1_000, learning_starts=10_000)
    points = [Point(step, step / 5_000) for step in range(10_100, 15_000, 100)]
    points += [Point(step, 3.0 + (step - 15_000) / 1_000) for step in range(15_000, 20_001, 100)]

    assert row.window_start(20_000) == 15_000
    assert steps_per_second(points, row.window_start(20_000)) == pytest.approx(1_000)


def test_a_run_without_two_points_in_the_window_is_not_measured() -> None:
    with pytest.raises(NotMeasured, match="1 charts/SPS points at or after step 512") as refused:
        steps_per_second([Point(256, 1.0), Point(512, 2.0)], start=512)
    assert "more --steps" in refused.value.one_line()


def test_points_and_settings_come_from_event_files(tmp_path: Path) -> None:
    writer = TensorBoardWriter(tmp_path / "tensorboard")
    writer.hyperparameters({"gamma": 0.99, "target_kl": None})
    writer.scalars(512, {"losses/value_loss": 1.0, "charts/SPS": 100.0})
    writer.scalars(600, {"charts/episodic_return": 20.0})
    writer.scalars(1024, {"charts/SPS": 100.0})
    writer.close()

    recording = read_recording(tmp_path)

    assert [point.step for point in recording.points] == [512, 1024]
    assert recording.settings == {"gamma": "0.99", "target_kl": "None"}


def test_settings_that_differ_are_refused() -> None:
    theirs = parse_settings("|param|value|\n|-|-|\n|gamma|0.99|\n|exp_name|ppo|\n|batch_size|512|")

    assert shared_settings({"gamma": "0.990", "exp_name": "x"}, theirs) == {"gamma": "0.99"}
    with pytest.raises(NotMeasured, match=r"gamma is 0\.98 on our side and 0\.99 on CleanRL's"):
        shared_settings({"gamma": "0.98"}, theirs)


def _result() -> Result:
    found = Interpreter({"python": "3.11.7", "torch": "2.13.0"}, torch_threads=1)
    ours = Measured("ours", (9_000.0, 12_000.0, 10_000.0), 1e-5, found)
    theirs = Measured("CleanRL", (4_500.0, 4_000.0, 5_000.0), 2e-5, found)
    return Result("ppo", "CartPole-v1", 102_400, 51_200, {"gamma": "0.99"}, ours, theirs)


def test_the_ratio_is_of_medians_and_the_spread_of_neighbouring_runs() -> None:
    result = _result()

    assert result.ratio == pytest.approx(10_000 / 4_500)
    assert result.paired_ratios == pytest.approx((2.0, 3.0, 2.0))
    assert result.ours.product_share == pytest.approx(0.1)
    row = table([result]).splitlines()[-1]
    assert "| 10,000 (9,000 to 12,000) | 4,500 (4,000 to 5,000) | **2.22** | 2.00 to 3.00 |" in row
    assert "10.0% / 9.0%" in row
    assert "settings: gamma=0.99" in details([result])
    assert json.loads(json.dumps(result.as_json()))["sides"][1]["torch_threads"] == 1


def test_both_sides_are_asked_for_the_same_work(tmp_path: Path) -> None:
    row = Row("ppo", "CartPole-v1", 2_048, 512, settings={"num_envs": 8, "norm_adv": False})
    task = Task(row, steps=2_048, seed=3, settings=row.settings, folder=tmp_path)

    python, script, *flags = CleanRL(tmp_path, PYTHON).command(task)
    config = json.loads(Path(Ours().command(task)[-1]).read_text())

    assert (python, script) == (str(PYTHON), str(tmp_path / "cleanrl" / "ppo.py"))
    assert flags == [
        *("--env-id=CartPole-v1", "--total-timesteps=2048", "--seed=3", "--no-cuda"),
        *("--num-envs=8", "--no-norm-adv"),
    ]
    assert (config["algo"], config["env_id"], config["seed"]) == ("ppo", "CartPole-v1", 3)
    assert config["extras"]["algo_params"] == {"num_envs": 8, "norm_adv": False}


@pytest.mark.parametrize("threads", [1, 2])
def test_both_sides_are_asked_for_the_same_threads(threads: int, tmp_path: Path) -> None:
    ours, theirs = Ours(threads), CleanRL(tmp_path, PYTHON, threads)
    for side in (ours, theirs):
        environment = side.environment()
        assert environment["OMP_NUM_THREADS"] == environment["MKL_NUM_THREADS"] == str(threads)
    task = Task(ROWS["ppo"], steps=2_048, seed=3, settings={}, folder=tmp_path)
    config = json.loads(Path(ours.command(task)[-1]).read_text())
    assert config["extras"]["torch_threads"] == threads
    assert f"--torch-threads={threads}" in ours.program(task)


def test_every_row_is_a_recipe() -> None:
    assert set(ROWS) <= set(RECIPES)
    assert all(ROWS[algo].against == "" for algo in DEFAULT_ALGOS)


def test_a_recipe_in_jax_stands_beside_the_torch_script_of_its_twin() -> None:
    row, twin = ROWS["td3_continuous_action_jax"], ROWS["td3_continuous_action"]
    assert row.script == twin.script == "cleanrl/td3_continuous_action.py"
    assert (row.env_id, row.steps, row.settings) == (twin.env_id, twin.steps, twin.settings)


def test_products_that_were_not_measured_are_a_dash() -> None:
    result = _result()
    unseen = replace(result, ours=replace(result.ours, product_seconds=None))
    assert table([replace(unseen, theirs=None)]).endswith("| – |")
    assert document([unseen])["rows"][0]["sides"][0]["matrix_product_share"] is None


def test_the_mean_of_ratios_is_geometric_and_the_least_is_named() -> None:
    faster = _result()
    slower = replace(faster, algo="sac", ours=replace(faster.ours, speeds=(4_500.0,) * 3))
    assert summary([faster, slower]) == (
        f"Geometric mean of 2 ratios: **{(10_000 / 4_500) ** 0.5:.2f}**; the least: 1.00 (sac)"
    )
    assert summary([replace(faster, theirs=None)]) == ""
    assert document([faster])["geometric_mean"] == pytest.approx(10_000 / 4_500)


def test_a_checkout_without_the_script_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"has no cleanrl/ppo\.py"):
        CleanRL(tmp_path, PYTHON).check(ROWS["ppo"])


def test_an_interpreter_without_a_package_is_refused() -> None:
    with pytest.raises(DependencyMissing, match=r"--cleanrl-python .* lacks no-such-package\."):
        Interpreter.ask(PYTHON, ("numpy", "no-such-package"), {}, "--cleanrl-python")


def test_what_is_no_interpreter_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"--cleanrl-python=.* cannot be run: No such file"):
        Interpreter.ask(tmp_path / "python", (), {}, "--cleanrl-python")


def test_a_gymnasium_that_cleanrl_cannot_use_is_refused(tmp_path: Path) -> None:
    (tmp_path / "cleanrl").mkdir()
    (tmp_path / "cleanrl" / "ppo.py").touch()
    python = tmp_path / "python"
    answer = {"versions": {"gymnasium": "1.4.0"}, "threads": 1}
    python.write_text(f"#!/bin/sh\necho '{json.dumps(answer)}'\n")
    python.chmod(0o755)

    with pytest.raises(ConfigError, match=r"gymnasium 1\.4\.0; CleanRL's scripts need 0\.29"):
        CleanRL(tmp_path, python).check(ROWS["ppo"])


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--algo", "pppo"], "--algo='pppo' has no row here. Did you mean 'ppo'?"),
        (["--json", "no/such/found.json"], "--json='no/such/found.json' cannot be written:"),
        (["--cleanrl-home", "/"], "--cleanrl-home is given without --cleanrl-python: give both."),
    ],
)
def test_bad_flags_get_one_line(
    arguments: list[str], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert throughput.main(arguments) == 2
    error = capsys.readouterr().err
    assert error.startswith(line)
    assert error.count("\n") == 1


def test_products_of_torch_are_counted_each_once() -> None:
    layers = torch.nn.Sequential(
        torch.nn.Conv2d(1, 2, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(8, 3)
    )

    with matmul_probe.TorchMeter() as trained:
        layers(torch.ones(5, 1, 4, 4)).sum().backward()
    with matmul_probe.TorchMeter() as played, torch.inference_mode():
        layers(torch.ones(5, 1, 4, 4))

    assert trained.calls == 2 + 3  # forward; the convolution's gradients, and the layer's two
    assert played.calls == 2
    assert 0 < played.seconds < 1


def test_numpy_products_are_counted_and_their_results_plain() -> None:
    weights = torch.ones(64, 2).numpy().view(matmul_probe.TimedArray)
    before = matmul_probe.Meter.calls

    result = np.ones((4, 64), np.float32) @ weights
    result += weights[0]
    np.matmul(result, weights.T, out=np.empty((4, 64), np.float32))

    assert matmul_probe.Meter.calls == before + 2
    assert type(result) is np.ndarray
    assert result[0, 0] == 65.0


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_our_side_alone_is_measured_end_to_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = tmp_path / "found.json"

    code = throughput.main(
        ["--algo", "ppo", "--steps=2048", "--rounds=1", "--probes=1", f"--json={found}"]
    )

    assert code == 0, capsys.readouterr().err
    [row] = json.loads(found.read_text())["rows"]
    [ours] = row["sides"]
    assert row["settings"]["num_envs"] == "4"
    assert ours["median"] > 0
    assert 0 < ours["matrix_product_share"] < 1
    assert ours["torch_threads"] == 1
