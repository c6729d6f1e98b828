"""The sum tree draws as a plain sum over all weights would."""

from __future__ import annotations

import numpy as np
import pytest

from cleanrl_worker.replay.sum_tree import WIDTH, SumTree

CAPACITIES = [1, 5, WIDTH, WIDTH + 1, WIDTH**2 + 3]


def random_weights(capacity: int, seed: int) -> np.ndarray:
    """Return weights of which about a third are zero, the first one not."""
    rng = np.random.default_rng(seed)
    weights = rng.exponential(size=capacity) * (rng.random(capacity) > 0.3)
    weights[0] = 1.0
    return weights


@pytest.mark.parametrize("capacity", CAPACITIES)
def test_each_point_lies_in_the_share_of_its_row(capacity: int) -> None:
    weights = random_weights(capacity, 1)
    tree = SumTree(capacity)
    tree.fill(weights)
    points = np.random.default_rng(2).random(2000) * weights.sum()

    rows = tree.find(points)

    ends = weights.cumsum()
    slack = 1e-9 * ends[-1]
    assert tree.total == pytest.approx(ends[-1])
    assert (weights[rows] > 0).all()
    assert (ends[rows] >= points - slack).all()
    assert (ends[rows] - weights[rows] <= points + slack).all()


@pytest.mark.parametrize("capacity", CAPACITIES)
def test_no_row_without_weight_is_found_at_either_end(capacity: int) -> None:
    tree = SumTree(capacity)
    weights = np.zeros(capacity)
    weights[capacity // 2] = 0.1
    tree.fill(weights)
    ends = np.array([0.0, tree.total, np.nextafter(tree.total, 1.0)])
    assert tree.find(ends).tolist() == [capacity // 2] * 3


@pytest.mark.parametrize("capacity", CAPACITIES)
def test_changed_weights_give_the_very_tree_that_is_filled_with_them(capacity: int) -> None:
    rng = np.random.default_rng(3)
    kept, weights = SumTree(capacity), np.zeros(capacity)
    for _ in range(50):
        rows = rng.integers(0, capacity, 20)
        values = rng.exponential(size=20)
        for row, value in zip(rows, values, strict=True):  # the last one counts
            weights[row] = value
        kept.set(rows, values)
    anew = SumTree(capacity)
    anew.fill(weights)

    assert np.array_equal(kept.weights, weights)
    assert kept.total == anew.total
    draws = [tree.draw(np.random.default_rng(4), 500).tolist() for tree in (kept, anew)]
    assert draws[0] == draws[1]


def test_rows_are_drawn_in_proportion_to_their_weights() -> None:
    weights = random_weights(300, 5)
    tree = SumTree(300)
    tree.fill(weights)
    draws = 200_000

    found = np.bincount(tree.draw(np.random.default_rng(6), draws), minlength=300)

    # One draw from each equal part: a row gets its share to within the two parts at its ends.
    assert np.abs(found - draws * weights / weights.sum()).max() <= 2


def test_its_memory_is_known_beforehand() -> None:
    for capacity in CAPACITIES:
        held = sum(level.nbytes for level in SumTree(capacity)._levels)
        assert SumTree.size_bytes(capacity) == held
