"""The agent for grid views: its layers, its start, and its place in PPO's acting path."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from cleanrl_worker.agents.inference import inference
from cleanrl_worker.agents.minigrid import MinigridAgent

ACTIONS = 7


@pytest.fixture
def agent() -> MinigridAgent:
    torch.manual_seed(1)
    return MinigridAgent(ACTIONS)


def views(count: int) -> np.ndarray:
    return np.random.default_rng(1).integers(0, 11, (count, 7, 7, 3)).astype(np.uint8)


def test_layers_are_those_of_the_contract(agent: MinigridAgent) -> None:
    convolutions = [layer for layer in agent.modules() if isinstance(layer, nn.Conv2d)]
    assert [(c.in_channels, c.out_channels) for c in convolutions] == [(3, 32), (32, 64), (64, 64)]
    assert {(c.kernel_size, c.padding) for c in convolutions} == {((3, 3), (1, 1))}
    linears = [layer for layer in agent.modules() if isinstance(layer, nn.Linear)]
    assert [(layer.in_features, layer.out_features) for layer in linears] == [
        (3136, 128),
        (128, 128),
        (128, 1),
        (128, 128),
        (128, ACTIONS),
    ]


def test_one_pass_gives_logits_and_values(agent: MinigridAgent) -> None:
    logits, values = agent(torch.from_numpy(views(5)))
    assert logits.shape == (5, ACTIONS)
    assert values.shape == (5,)


def test_the_first_policy_is_nearly_uniform(agent: MinigridAgent) -> None:
    logits, _ = agent(torch.from_numpy(views(32)))
    assert torch.allclose(logits.softmax(-1), torch.full((32, ACTIONS), 1 / ACTIONS), atol=5e-3)


def test_the_view_is_read_as_rows_columns_channels(agent: MinigridAgent) -> None:
    """A convolution by hand at the view's corner, where the padding is."""
    view = views(1)
    first = agent.encoder[0]
    assert isinstance(first, nn.Conv2d)
    corner = view[0, :2, :2].transpose(2, 0, 1) / 32.0
    by_hand = float((first.weight[0, :, 1:, 1:].detach().numpy() * corner).sum())
    seen: list[torch.Tensor] = []
    first.register_forward_hook(lambda module, inputs, output: seen.append(output))
    agent(torch.from_numpy(view))
    assert seen[0][0, 0, 0, 0].item() == pytest.approx(by_hand, abs=1e-6)


def test_acting_sees_the_same_network_and_its_updates(agent: MinigridAgent) -> None:
    forward = inference(agent, torch.device("cpu"))
    obs = views(8)
    for _ in range(2):
        logits, values = agent(torch.from_numpy(obs))
        acted_logits, acted_values = forward(obs)
        assert np.allclose(acted_logits, logits.detach(), atol=1e-6)
        assert np.allclose(acted_values, values.detach(), atol=1e-6)
        with torch.no_grad():
            for weights in agent.parameters():
                weights.mul_(1.5)
