"""Noisy layers against weights that are put together one by one, and Rainbow's network."""

from __future__ import annotations

import math

import pytest
import torch

from cleanrl_worker.agents.noisy import NoisyLinear, RainbowNetwork


def factor(number: float) -> float:
    return math.copysign(math.sqrt(abs(number)), number)


def test_a_layer_computes_what_its_noisy_weights_would() -> None:
    torch.manual_seed(1)
    layer, inputs = NoisyLinear(5, 3).requires_grad_(False), torch.randn(4, 5)
    torch.manual_seed(2)
    drawn = [[factor(x) for x in torch.randn(size).tolist()] for size in (5, 3)]
    torch.manual_seed(2)
    layer.draw_noise()

    found = layer(inputs, is_noisy=True)

    for row in range(4):
        for out in range(3):
            total = float(layer.bias_mu[out]) + float(layer.bias_sigma[out]) * drawn[1][out]
            for place in range(5):
                noise = drawn[0][place] * drawn[1][out]
                mean, deviation = layer.weight_mu[out, place], layer.weight_sigma[out, place]
                total += (float(mean) + float(deviation) * noise) * float(inputs[row, place])
            assert float(found[row, out]) == pytest.approx(total, abs=1e-5)


def test_gradients_reach_means_and_deviations_as_through_the_weights() -> None:
    torch.manual_seed(1)
    layer, inputs = NoisyLinear(5, 3), torch.randn(4, 5)
    layer.draw_noise()
    goal = torch.randn(4, 3)
    (layer(inputs, is_noisy=True) * goal).sum().backward()
    found = [parameter.grad.clone() for parameter in layer.parameters()]
    layer.zero_grad()

    weight = layer.weight_mu + layer.weight_sigma * torch.outer(layer.noise_out, layer.noise_in)
    bias = layer.bias_mu + layer.bias_sigma * layer.noise_out
    ((inputs @ weight.T + bias) * goal).sum().backward()

    for mine, parameter in zip(found, layer.parameters(), strict=True):
        torch.testing.assert_close(mine, parameter.grad)


def test_the_noise_is_centred_and_of_the_papers_size() -> None:
    torch.manual_seed(1)
    layer = NoisyLinear(2000, 2000)
    layer.draw_noise()
    for noise in (layer.noise_in, layer.noise_out):
        assert float(noise.mean()) == pytest.approx(0, abs=0.07)
        assert float(noise.square().mean()) == pytest.approx(math.sqrt(2 / math.pi), abs=0.07)
    assert layer.weight_sigma.unique().tolist() == pytest.approx([0.5 / math.sqrt(2000)])
    assert float(layer.weight_mu.detach().abs().max()) <= 1.0001 / math.sqrt(2000)


def test_without_noise_only_the_means_count() -> None:
    network = RainbowNetwork((3,), 2, 5, -1.0, 1.0)
    obs = torch.randn(4, 3)
    quiet = network(obs, is_noisy=False)
    assert torch.equal(network(obs), quiet)  # before any noise was drawn
    network.draw_noise()
    noisy = network(obs)
    network.draw_noise()
    assert torch.equal(network(obs, is_noisy=False), quiet)
    assert not torch.allclose(noisy, quiet)
    assert not torch.allclose(network(obs), noisy)


def test_noise_is_no_part_of_what_is_saved() -> None:
    names = RainbowNetwork((3,), 2, 5, -1.0, 1.0).state_dict().keys()
    assert not any("noise" in name for name in names)


@pytest.mark.parametrize("shape", [(3,), (4, 84, 84)])
def test_advantages_are_relative_to_their_mean(shape: tuple[int, ...]) -> None:
    torch.manual_seed(1)
    network = RainbowNetwork(shape, 4, 5, -1.0, 1.0)
    obs = torch.randint(0, 256, (2, *shape), dtype=torch.uint8)
    logits = network(obs, is_noisy=False)
    with torch.no_grad():
        network.advantage_head.out.bias_mu += torch.arange(5.0).repeat(4)  # the same to each action
    torch.testing.assert_close(network(obs, is_noisy=False), logits, atol=1e-5, rtol=1e-5)
    assert logits.shape == (2, 4, 5)
