"""Noisy layers (Fortunato et al. 2018), and Rainbow's network of them."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from cleanrl_worker.agents import nature
from cleanrl_worker.agents.dense import Dense, dense
from cleanrl_worker.agents.encoders import flat_numbers
from cleanrl_worker.agents.layout import PICTURES

FIRST_DEVIATION = 0.5  # of the paper's factorised noise, over the root of the inputs
FLAT_FEATURES = 120


class NoisyLinear(nn.Module):
    """A linear layer whose weights vary by learned amounts; factorised noise.

    The noise of a weight is the product of one number for its input and one for its output. So the
    noisy part is a layer of its own between scaled inputs and scaled outputs: no noisy weight is
    ever computed, of which a picture's network has millions.
    """

    noise_in: Tensor
    noise_out: Tensor

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        bound, deviation = 1 / math.sqrt(inputs), FIRST_DEVIATION / math.sqrt(inputs)
        self.weight_mu = nn.Parameter(torch.empty(outputs, inputs).uniform_(-bound, bound))
        self.weight_sigma = nn.Parameter(torch.full((outputs, inputs), deviation))
        self.bias_mu = nn.Parameter(torch.empty(outputs).uniform_(-bound, bound))
        self.bias_sigma = nn.Parameter(torch.full((outputs,), deviation))
        # Drawn anew before every use, so that no checkpoint needs them.
        self.register_buffer("noise_in", torch.zeros(inputs), persistent=False)
        self.register_buffer("noise_out", torch.zeros(outputs), persistent=False)

    @torch.no_grad()
    def draw_noise(self) -> None:
        for noise in (self.noise_in, self.noise_out):
            drawn = torch.randn_like(noise)
            noise.copy_(drawn.sign() * drawn.abs().sqrt())

    def forward(self, inputs: Tensor, *, is_noisy: bool) -> Tensor:
        outputs = dense(inputs, self.weight_mu, self.bias_mu)
        if not is_noisy:
            return outputs
        return outputs + self.noise_out * dense(
            inputs * self.noise_in, self.weight_sigma, self.bias_sigma
        )


class NoisyStream(nn.Module):
    """Two noisy layers with a ReLU between them."""

    def __init__(self, inputs: int, hidden: int, outputs: int) -> None:
        super().__init__()
        self.hidden = NoisyLinear(inputs, hidden)
        self.out = NoisyLinear(hidden, outputs)

    def forward(self, inputs: Tensor, *, is_noisy: bool) -> Tensor:
        hidden = self.hidden(inputs, is_noisy=is_noisy).relu()
        outputs: Tensor = self.out(hidden, is_noisy=is_noisy)
        return outputs


class RainbowNetwork(nn.Module):
    """Distributions of returns, of a state and of what each action adds (Wang et al. 2016).

    Pictures go through three convolutions, other observations through one layer of 120 units.
    """

    atoms: Tensor

    def __init__(
        self, obs_shape: tuple[int, ...], actions: int, n_atoms: int, v_min: float, v_max: float
    ) -> None:
        super().__init__()
        self.register_buffer("atoms", torch.linspace(v_min, v_max, n_atoms))
        self._sees_pictures = obs_shape == PICTURES
        if self._sees_pictures:
            self.network = nature.convolutions()
            features, hidden = nature.CONVOLVED, nature.FEATURES
        else:
            self.network = nn.Sequential(
                Dense(math.prod(obs_shape), FLAT_FEATURES), nn.ReLU(inplace=True)
            )
            features = hidden = FLAT_FEATURES
        self.value_head = NoisyStream(features, hidden, n_atoms)
        self.advantage_head = NoisyStream(features, hidden, actions * n_atoms)
        self._noisy = [layer for layer in self.modules() if isinstance(layer, NoisyLinear)]

    def draw_noise(self) -> None:
        """Change the noise of all layers, for all observations until the next change."""
        for layer in self._noisy:
            layer.draw_noise()

    def forward(self, obs: Tensor, *, is_noisy: bool = True) -> Tensor:
        """Return logits of [observation, action, atom]; without noise those of the mean weights."""
        scaled = nature.scaled if self._sees_pictures else flat_numbers
        features = self.network(scaled(obs))
        value = self.value_head(features, is_noisy=is_noisy)[:, None]
        advantages = self.advantage_head(features, is_noisy=is_noisy)
        advantages = advantages.unflatten(1, (-1, len(self.atoms)))
        logits: Tensor = value + advantages - advantages.mean(1, keepdim=True)
        return logits
