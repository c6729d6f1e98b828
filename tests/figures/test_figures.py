"""Figures: the statistics against what they are defined as, and files that can be opened."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from mosaic.contracts.errors import ConfigError
from mosaic.figures.aggregate import Points, aggregate, interquartile_mean
from mosaic.figures.drawing import check_file, draw


def test_the_interquartile_mean() -> None:
    assert interquartile_mean(np.array([0.0, 1.0, 2.0, 1000.0])) == 1.5
    assert interquartile_mean(np.array([5.0])) == 5.0
    assert interquartile_mean(np.array([1.0, 3.0])) == 2.0
    # Of three, the outer ones count with a quarter of a place each.
    assert interquartile_mean(np.array([0.0, 1.0, 100.0])) == pytest.approx((0.25 * 100 + 1) / 1.5)
    random = np.random.default_rng(1).normal(size=(101, 3))
    trimmed = np.sort(random, axis=0)[26:75].mean(axis=0)
    assert interquartile_mean(random) == pytest.approx(trimmed, abs=0.05)


def run(seed: int, steps: int = 1000) -> Points:
    random = np.random.default_rng(seed)
    at = np.sort(random.integers(0, steps, 300)).astype(float)
    return Points(at, at / steps + random.normal(0, 0.1, 300))


def test_seeds_become_one_curve_with_its_interval() -> None:
    curve = aggregate([run(seed) for seed in range(8)], bins=20)
    assert curve.seeds == 8
    assert np.all((curve.low <= curve.middle) & (curve.middle <= curve.high))
    assert np.abs(curve.middle - curve.steps / 1000).max() < 0.1
    assert aggregate([run(seed) for seed in range(8)], bins=20).low == pytest.approx(curve.low)
    assert curve.steps[-1] < 1000
    short = aggregate([run(1), run(2, steps=500)], bins=10)
    assert short.steps[-1] < 500, "only what all have reached is compared"
    assert aggregate([]).seeds == 0
    one = aggregate([run(1)], bins=10)
    assert (one.low == one.middle).all()


def test_the_interval_covers() -> None:
    """In most of many experiments the truth lies inside; a narrow interval would fail."""
    inside = 0
    for trial in range(40):
        random = np.random.default_rng(trial)
        runs = [Points(np.array([0.0, 1.0]), random.normal(3.0, 1.0, 2)) for _ in range(10)]
        curve = aggregate(runs, bins=1, seed=trial)
        inside += int(curve.low[0] <= 3.0 <= curve.high[0])
    assert inside >= 32


@pytest.mark.parametrize("ending", [".svg", ".pdf", ".png"])
def test_a_file_of_each_kind(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"figure{ending}"
    check_file(path)
    curves = {"ppo": aggregate([run(1), run(2)]), "dqn": aggregate([run(3)])}
    draw(curves, path, x_label="environment steps", y_label="return", title="CartPole-v1")
    if ending == ".svg":
        text = path.read_text()
        assert ElementTree.fromstring(text).tag.endswith("svg")
        assert "ppo (n=2)" in text, "text stays text"
    elif ending == ".png":
        with Image.open(path) as picture:
            assert picture.width > 900
    else:
        assert path.read_bytes().startswith(b"%PDF")


def test_other_endings_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"ends in \.svg, \.pdf, \.png"):
        check_file(tmp_path / "figure.gif")
