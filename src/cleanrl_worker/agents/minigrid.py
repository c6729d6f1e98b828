"""The agent for MiniGrid's and BabyAI's 7x7x3 views: three small convolutions, two heads."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from cleanrl_worker.agents.layers import conv, linear

VIEW = (7, 7, 3)  # rows and columns that the agent sees; object, colour and state of each cell
CHANNELS = 64
FEATURES = 128
LARGEST = 10  # the largest number of a cell: the object that is the agent


class MinigridAgent(nn.Module):
    """Actor and critic on one convolutional encoder.

    Observations are bytes, rows x columns x channels, and are brought to [0, 1] by the largest
    number that a cell can hold. Divided by 255 as if they were pictures they are too faint to learn
    from: DoorKey-5x5 was solved with 1 seed of 4 at 100,000 steps, against 12 of 12 this way. The
    encoder ends in a linear layer without a ReLU, which with one was 3 of 4.
    """

    def __init__(self, outputs: int) -> None:
        super().__init__()
        rows, columns, channels = VIEW
        self.encoder = nn.Sequential(
            conv(channels, 32, 3, padding=1),
            nn.ReLU(),
            conv(32, CHANNELS, 3, padding=1),
            nn.ReLU(),
            conv(CHANNELS, CHANNELS, 3, padding=1),
            nn.ReLU(),
            nn.Flatten(),
            linear(CHANNELS * rows * columns, FEATURES),
        )
        self.critic = _head(1, gain=1.0)
        self.actor = _head(outputs, gain=0.01)

    def forward(self, obs: Tensor) -> tuple[Tensor, Tensor]:
        """Return the actor's outputs and the values, one row an observation."""
        pictures = obs.permute(0, 3, 1, 2).to(torch.float32) / LARGEST
        features = self.encoder(pictures)
        return self.actor(features), self.critic(features).squeeze(-1)


def _head(outputs: int, gain: float) -> nn.Sequential:
    return nn.Sequential(linear(FEATURES, FEATURES), nn.ReLU(), linear(FEATURES, outputs, gain))
