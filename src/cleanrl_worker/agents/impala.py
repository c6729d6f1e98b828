"""The residual encoder of IMPALA (Espeholt et al. 2018), and networks on top of it."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn

from cleanrl_worker.agents.dense import Dense
from cleanrl_worker.agents.layers import linear
from cleanrl_worker.agents.layout import PICTURES, SCENES, laid_out
from cleanrl_worker.agents.nature import scaled

FEATURES = 256  # width of the last hidden layer
CHANNELS = (16, 32, 32)


class ResidualBlock(nn.Module):
    """Two convolutions beside a way past them."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv0 = nn.Conv2d(channels, channels, 3, padding=1)
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        inner = self.conv0(nn.functional.relu(x))
        added: Tensor = x + self.conv1(nn.functional.relu(inner))
        return added


class ConvSequence(nn.Module):
    """A convolution, a pooling that halves rows and columns, and two residual blocks."""

    def __init__(self, channels_in: int, channels: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels_in, channels, 3, padding=1)
        self.res_block0 = ResidualBlock(channels)
        self.res_block1 = ResidualBlock(channels)

    def forward(self, x: Tensor) -> Tensor:
        x = nn.functional.max_pool2d(self.conv(x), 3, stride=2, padding=1)
        x = self.res_block1(self.res_block0(x))
        return x


class ImpalaEncoder(nn.Sequential):
    """From scaled pictures to features; the parts are named as in CleanRL's, weights are torch's.

    More layers can be appended.
    """

    def __init__(
        self,
        channels_in: int,
        height: int,
        width: int,
        *,
        channels: Sequence[int] = CHANNELS,
        features: int = FEATURES,
    ) -> None:
        sequences = []
        for count in channels:
            sequences.append(ConvSequence(channels_in, count))
            channels_in, height, width = count, (height + 1) // 2, (width + 1) // 2
        flat = channels_in * height * width
        super().__init__(
            *sequences, nn.Flatten(), nn.ReLU(), Dense(flat, features), nn.ReLU(inplace=True)
        )


class ImpalaAgent(nn.Module):
    """Actor and critic on one encoder; the parts are named as in CleanRL's ppo_procgen."""

    def __init__(self, outputs: int) -> None:
        super().__init__()
        self.network = ImpalaEncoder(*SCENES)
        self.actor = linear(FEATURES, outputs, gain=0.01)
        self.critic = linear(FEATURES, 1, gain=1.0)

    def forward(self, obs: Tensor) -> tuple[Tensor, Tensor]:
        """Return the actor's outputs and the values, one row an observation."""
        features = self.network(scaled_scenes(obs))
        return self.actor(features), self.critic(features).squeeze(-1)


def scaled_scenes(scenes: Tensor) -> Tensor:
    """Bring bytes to [0, 1]. A change of layout repays even a pass over a single scene."""
    return scaled(laid_out(scenes))


class ImpalaQNetwork(nn.Module):
    """Values of actions; named as in CleanRL's qdagger_dqn_atari_impalacnn."""

    def __init__(self, actions: int) -> None:
        super().__init__()
        self.network = ImpalaEncoder(*PICTURES).append(Dense(FEATURES, actions))

    def forward(self, obs: Tensor) -> Tensor:
        """Return a row of action values for every observation."""
        values: Tensor = self.network(scaled(obs))
        return values
