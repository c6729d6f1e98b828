"""Rainbow's loss against a computation window by window, atom by atom."""

from __future__ import annotations

import copy
import math

import pytest
import torch

from cleanrl_worker.agents.noisy import RainbowNetwork
from cleanrl_worker.algorithms import rainbow
from cleanrl_worker.preparation import prepare
from cleanrl_worker.replay.prioritised import Windows
from mosaic.contracts.errors import ConfigError
from tests.contract.short_games import SHORT_GAME

ATOMS = [-1.0, -0.5, 0.0, 0.5, 1.0]


def networks() -> tuple[RainbowNetwork, RainbowNetwork]:
    torch.manual_seed(3)
    agent, target = (RainbowNetwork((3,), 4, 5, -1.0, 1.0) for _ in range(2))
    agent.draw_noise()
    target.draw_noise()
    return agent, target


def windows(count: int) -> Windows:
    torch.manual_seed(4)
    return Windows(
        obs=torch.randn(count, 3),
        actions=torch.arange(count) % 4,
        returns=torch.linspace(-1.5, 1.5, count),
        next_obs=torch.randn(count, 3),
        discounts=torch.tensor([0.0, 0.9, 0.81, 0.729]).repeat(count)[:count],
        weights=torch.linspace(0.1, 1.0, count),
    )


def probabilities(network: RainbowNetwork, obs: torch.Tensor) -> list[list[float]]:
    found: list[list[float]] = network(obs[None])[0].softmax(-1).tolist()
    return found


def expect(agent: RainbowNetwork, target: RainbowNetwork, batch: Windows, row: int) -> float:
    """Return one window's cross-entropy."""
    chosen = probabilities(agent, batch.next_obs[row])
    worth = [sum(p * z for p, z in zip(line, ATOMS, strict=True)) for line in chosen]
    following = probabilities(target, batch.next_obs[row])[worth.index(max(worth))]
    wanted = [0.0] * 5
    for probability, atom in zip(following, ATOMS, strict=True):
        value = float(batch.returns[row]) + float(batch.discounts[row]) * atom
        value = min(max(value, -1.0), 1.0)
        for place, other in enumerate(ATOMS):
            wanted[place] += probability * max(0.0, 1 - abs(value - other) / 0.5)
    taken = probabilities(agent, batch.obs[row])[int(batch.actions[row])]
    return -sum(w * math.log(p) for w, p in zip(wanted, taken, strict=True))


def test_the_loss_is_the_weighted_mean_of_each_windows_cross_entropy() -> None:
    (agent, target), batch = networks(), windows(12)

    loss, errors, values = rainbow.loss(agent, target, batch)

    expected = [expect(agent, target, batch, row) for row in range(12)]
    assert errors.tolist() == pytest.approx(expected, abs=1e-5)
    weighted = [w * e for w, e in zip(batch.weights.tolist(), expected, strict=True)]
    assert loss.item() == pytest.approx(sum(weighted) / 12, abs=1e-5)
    taken = [probabilities(agent, batch.obs[row])[row % 4] for row in range(12)]
    worth = [sum(p * z for p, z in zip(line, ATOMS, strict=True)) for line in taken]
    assert values.tolist() == pytest.approx(worth, abs=1e-5)


def test_no_gradient_reaches_the_targets_network() -> None:
    (agent, target), batch = networks(), windows(4)
    rainbow.loss(agent, target, batch)[0].backward()
    assert all(parameter.grad is None for parameter in target.parameters())
    assert all(parameter.grad is not None for parameter in agent.parameters())


def test_a_copy_has_noise_of_its_own() -> None:
    agent, _ = networks()
    twin, obs = copy.deepcopy(agent), torch.randn(2, 3)
    assert torch.equal(agent(obs), twin(obs))
    before = agent(obs)
    twin.draw_noise()
    assert torch.equal(agent(obs), before)
    assert not torch.allclose(twin(obs), before)


def test_a_buffer_without_a_whole_window_is_refused() -> None:
    flags = [f"--env-id={SHORT_GAME}", "--num-envs=2", "--buffer-size=13", "--learning-starts=1"]
    with pytest.raises(ConfigError, match=r"buffer_size=13 .* Use at least 14\."):
        prepare("rainbow_atari", flags)


def test_returns_without_an_order_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"v_min=2\.0 is not below v_max=1\.0"):
        prepare("rainbow_atari", [f"--env-id={SHORT_GAME}", "--v-min=2", "--v-max=1"])
