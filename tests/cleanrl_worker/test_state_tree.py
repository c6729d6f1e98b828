"""Training state survives as JSON and tensors, types included."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest
import torch

from cleanrl_worker.state_tree import join, split
from mosaic.contracts.errors import ConfigError


def round_trip(state):
    skeleton, tensors = split(state, "state")
    return join(json.loads(json.dumps(skeleton)), tensors)


def test_an_optimisers_state_comes_back_as_it_was() -> None:
    network = torch.nn.Linear(3, 2)
    optimizer = torch.optim.Adam(network.parameters(), 1e-3, fused=True)
    network(torch.ones(1, 3)).sum().backward()
    optimizer.step()

    before, after = optimizer.state_dict(), round_trip(optimizer.state_dict())

    assert after["param_groups"] == before["param_groups"]
    assert after["state"].keys() == before["state"].keys() == {0, 1}
    for index, values in before["state"].items():
        for name, tensor in values.items():
            assert torch.equal(after["state"][index][name], tensor)


def test_random_states_come_back_as_they_were() -> None:
    rng = np.random.default_rng(7)
    states = round_trip(
        {
            "run": rng.bit_generator.state,
            "numpy": np.random.get_state(legacy=False),
            "python": random.getstate(),
            "torch": torch.get_rng_state(),
        }
    )
    expected = rng.random(5)

    rng.bit_generator.state = states["run"]
    random.setstate(states["python"])
    np.random.set_state(states["numpy"])
    torch.set_rng_state(states["torch"])

    assert (rng.random(5) == expected).all()


@pytest.mark.parametrize(
    "state",
    [
        None,
        1,
        2**200,
        0.1,
        "text",
        (1, (2.0, None)),
        [True, {"a": [], "b": {}}],
        {1: "one", "two": 2},
    ],
)
def test_plain_values_keep_their_types(state) -> None:
    assert round_trip(state) == state
    assert type(round_trip(state)) is type(state)


def test_an_array_without_dimensions_keeps_none() -> None:
    assert round_trip({"count": np.array(3.5)})["count"].shape == ()


def test_a_tensor_that_is_missing_is_named() -> None:
    skeleton, _ = split({"weights": torch.ones(2)}, "state")

    with pytest.raises(ConfigError, match="state/weights"):
        join(skeleton, {})
