"""Acting by NumPy gives what torch gives, and sees the weights as they change."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from cleanrl_worker.agents.inference import inference
from cleanrl_worker.agents.mlp import GaussianMLPAgent, MLPAgent
from cleanrl_worker.agents.numpy_mlp import numpy_mlp

CPU = torch.device("cpu")
AGENTS = {
    "apart": lambda: MLPAgent((4,), 3),
    "shared trunk": lambda: MLPAgent((4,), 3, shared_trunk=True),
    "gaussian": lambda: GaussianMLPAgent((4,), 2),
}


@pytest.mark.parametrize("kind", AGENTS)
def test_outputs_and_values_are_torchs(kind: str) -> None:
    agent = AGENTS[kind]()
    obs = np.random.default_rng(0).normal(size=(5, 4)).astype(np.float32)

    outputs, values = inference(agent, CPU)(obs)

    expected_outputs, expected_values = agent(torch.from_numpy(obs))
    np.testing.assert_allclose(outputs, expected_outputs.detach(), atol=1e-6)
    np.testing.assert_allclose(values, expected_values.detach(), atol=1e-6)


@pytest.mark.parametrize("kind", AGENTS)
def test_an_optimiser_step_is_seen_at_once(kind: str) -> None:
    agent = AGENTS[kind]()
    optimizer = torch.optim.Adam(agent.parameters(), 0.1, fused=True)
    forward = inference(agent, CPU)
    obs = np.ones((1, 4), np.float32)
    before = forward(obs)[1].copy()

    outputs, values = agent(torch.from_numpy(obs))
    (outputs.sum() + values.sum()).backward()
    optimizer.step()

    after = forward(obs)[1]
    assert after != before
    np.testing.assert_allclose(after, agent(torch.from_numpy(obs))[1].detach(), atol=1e-5)


def test_normalised_layers_too() -> None:
    network = nn.Sequential(nn.Linear(3, 8), nn.LayerNorm(8), nn.ReLU(), nn.Linear(8, 2))
    nn.init.normal_(network[1].weight)
    x = np.random.default_rng(0).normal(size=(6, 3)).astype(np.float32)
    kept = x.copy()

    found = numpy_mlp(network)(x)

    np.testing.assert_allclose(found, network(torch.from_numpy(x)).detach(), atol=1e-5)
    assert (x == kept).all()
