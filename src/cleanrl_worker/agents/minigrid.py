"""The agent for MiniGrid's and BabyAI's 7x7x3 views: three small convolutions, two heads."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from cleanrl_worker.agents.layers import conv, linear

VIEW = (7, 7, 3)  # rows and columns that the agent sees; object, colour and state of each cell
CHANNELS = 64
FEATURES = 128
SCALE = 1 / 32  # cells hold numbers up to 10; see MinigridAgent for why not 1 / 10 or 1 / 255


class MinigridAgent(nn.Module):
    """Actor and critic on one convolutional encoder.

    Observations are bytes, rows x columns x channels, of at most 10. Divided by 255 as if they were
    pictures they are too faint to learn from: with a learning rate of 0.001 DoorKey-5x5 was solved
    with 1 seed of 4 at 100,000 steps. The brighter they are, the longer the steps of the layer that
    reads 3136 numbers, and at that rate a policy sometimes collapses after it was found. Divided by
    32, and without a ReLU behind that layer, whose units could all die, DoorKey-5x5 was solved with
    7 seeds of 7 and Empty-5x5 with 8 of 9.
    """

    def __init__(self, outputs: int) -> None:
        super().__init__()
        self.encoder = view_layers()
        self.critic = _head(1, gain=1.0)
        self.actor = _head(outputs, gain=0.01)

    def forward(self, obs: Tensor) -> tuple[Tensor, Tensor]:
        """Return the actor's outputs and the values, one row an observation."""
        features = self.encoder(scaled_view(obs))
        return self.actor(features), self.critic(features).squeeze(-1)


def view_layers() -> nn.Sequential:
    """Return the layers from scaled views to features."""
    rows, columns, channels = VIEW
    return nn.Sequential(
        conv(channels, 32, 3, padding=1),
        nn.ReLU(),
        conv(32, CHANNELS, 3, padding=1),
        nn.ReLU(),
        conv(CHANNELS, CHANNELS, 3, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        linear(CHANNELS * rows * columns, FEATURES),
    )


def scaled_view(obs: Tensor) -> Tensor:
    return obs.permute(0, 3, 1, 2).to(torch.float32) * SCALE


def _head(outputs: int, gain: float) -> nn.Sequential:
    return nn.Sequential(linear(FEATURES, FEATURES), nn.ReLU(), linear(FEATURES, outputs, gain))
