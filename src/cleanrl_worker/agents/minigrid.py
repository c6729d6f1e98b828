"""The agent for MiniGrid's and BabyAI's 7x7x3 views: three small convolutions, two heads."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from cleanrl_worker.agents.layers import SQRT2, linear

VIEW = (7, 7, 3)  # rows and columns that the agent sees; object, colour and state of each cell
CHANNELS = 64
FEATURES = 128
SCALE = 1.0 / 255.0


class MinigridAgent(nn.Module):
    """Actor and critic on one convolutional encoder.

    Observations are whole numbers of at most 10 in bytes, rows x columns x channels. They are
    scaled as pictures are; the orthogonal initialisation and Adam make up for the small inputs.
    """

    def __init__(self, outputs: int) -> None:
        super().__init__()
        rows, columns, channels = VIEW
        self.encoder = nn.Sequential(
            _conv(channels, 32),
            nn.ReLU(),
            _conv(32, CHANNELS),
            nn.ReLU(),
            _conv(CHANNELS, CHANNELS),
            nn.ReLU(),
            nn.Flatten(),
            linear(CHANNELS * rows * columns, FEATURES),
            nn.ReLU(),
        )
        self.critic = _head(1, gain=1.0)
        self.actor = _head(outputs, gain=0.01)

    def forward(self, obs: Tensor) -> tuple[Tensor, Tensor]:
        """Return the actor's outputs and the values, one row an observation."""
        pictures = obs.permute(0, 3, 1, 2).to(torch.float32) * SCALE
        features = self.encoder(pictures)
        return self.actor(features), self.critic(features).squeeze(-1)


def _conv(inputs: int, outputs: int) -> nn.Conv2d:
    """Return a 3x3 convolution that keeps the size, with orthogonal weights."""
    layer = nn.Conv2d(inputs, outputs, 3, padding=1)
    nn.init.orthogonal_(layer.weight, SQRT2)
    assert layer.bias is not None
    nn.init.zeros_(layer.bias)
    return layer


def _head(outputs: int, gain: float) -> nn.Sequential:
    return nn.Sequential(linear(FEATURES, FEATURES), nn.ReLU(), linear(FEATURES, outputs, gain))
