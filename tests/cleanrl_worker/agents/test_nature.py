"""The networks for Atari pictures: CleanRL's parts by name and shape, their start, acting."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from gymnasium import spaces
from torch import nn

from cleanrl_worker.agents.build import (
    build_actor_critic,
    build_categorical_q_network,
    build_q_network,
)
from cleanrl_worker.agents.inference import inference
from cleanrl_worker.algorithms import c51, dqn

PICTURES, ACTIONS = spaces.Box(0, 255, (4, 84, 84), np.uint8), spaces.Discrete(6)
CPU = torch.device("cpu")
ENCODER = {
    "network.0.weight": (32, 4, 8, 8),
    "network.2.weight": (64, 32, 4, 4),
    "network.4.weight": (64, 64, 3, 3),
    "network.7.weight": (512, 3136),
}


def weights(network: nn.Module) -> dict[str, tuple[int, ...]]:
    state = network.state_dict()
    return {name: tuple(item.shape) for name, item in state.items() if name.endswith("weight")}


def pictures(count: int) -> np.ndarray:
    return np.random.default_rng(1).integers(0, 256, (count, 4, 84, 84)).astype(np.uint8)


def test_the_agent_has_cleanrls_parts_and_start() -> None:
    torch.manual_seed(1)
    agent = build_actor_critic(PICTURES, ACTIONS, shared_trunk=False)

    heads = {"actor.weight": (6, 512), "critic.weight": (1, 512)}
    assert weights(agent) == ENCODER | heads
    state = agent.state_dict()
    assert all(not state[name].any() for name in state if name.endswith("bias"))
    for name, gain in (("network.7", 2.0), ("actor", 1e-4), ("critic", 1.0)):
        rows = state[f"{name}.weight"]
        assert torch.allclose(rows @ rows.T, gain * torch.eye(len(rows)), atol=1e-4)


def test_one_pass_gives_logits_and_values_of_scaled_pictures() -> None:
    agent = build_actor_critic(PICTURES, ACTIONS, shared_trunk=False)
    obs = pictures(3)

    outputs, values = inference(agent, CPU)(obs)

    assert (outputs.shape, values.shape) == ((3, 6), (3,))
    features = agent.network(torch.from_numpy(obs / np.float32(255)))  # type: ignore[operator]
    assert np.allclose(values, agent.critic(features)[:, 0].detach(), atol=1e-5)  # type: ignore[operator]


def test_a_large_batch_gives_what_its_rows_give() -> None:
    torch.manual_seed(1)
    agent = build_actor_critic(PICTURES, ACTIONS, shared_trunk=False)
    obs = torch.from_numpy(pictures(64))
    outputs, values = agent(obs)
    parts = [agent(rows) for rows in obs.split(8)]
    assert torch.allclose(outputs, torch.cat([part[0] for part in parts]), atol=1e-6)
    assert torch.allclose(values, torch.cat([part[1] for part in parts]), atol=1e-4)


def test_the_q_network_has_cleanrls_parts() -> None:
    network = build_q_network(PICTURES, ACTIONS)
    assert weights(network) == ENCODER | {"network.9.weight": (6, 512)}
    assert network.state_dict()["network.0.bias"].any()  # torch's own start
    assert dqn.policy(network, ACTIONS, CPU)(pictures(3), None).shape == (3,)


def test_the_categorical_network_has_cleanrls_parts() -> None:
    network = build_categorical_q_network(PICTURES, ACTIONS, 51, -10.0, 10.0)
    assert weights(network) == ENCODER | {"network.9.weight": (6 * 51, 512)}
    obs = torch.from_numpy(pictures(3))
    logits = network(obs)
    assert logits.shape == (3, 6, 51)
    expected = (logits.softmax(-1) @ network.atoms).detach().numpy()
    assert c51.q_values_of(network, CPU)(pictures(3)) == pytest.approx(expected, abs=1e-4)
