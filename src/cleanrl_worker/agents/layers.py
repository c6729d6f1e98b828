"""Layers and their initialisation."""

from __future__ import annotations

import math

from torch import nn

from cleanrl_worker.agents.dense import Dense

SQRT2 = math.sqrt(2.0)


def linear(inputs: int, outputs: int, gain: float = SQRT2) -> nn.Linear:
    """Return a linear layer with orthogonal weights and no bias at the start."""
    layer = Dense(inputs, outputs)
    nn.init.orthogonal_(layer.weight, gain)
    nn.init.zeros_(layer.bias)
    return layer


def conv(inputs: int, outputs: int, size: int, *, stride: int = 1, padding: int = 0) -> nn.Conv2d:
    """Return a square convolution with orthogonal weights and no bias at the start."""
    layer = nn.Conv2d(inputs, outputs, size, stride, padding)
    nn.init.orthogonal_(layer.weight, SQRT2)
    assert layer.bias is not None
    nn.init.zeros_(layer.bias)
    return layer


def initialise_kaiming(network: nn.Module) -> None:
    """Give all layers normal weights that keep the scale through ReLUs, and no bias."""
    for layer in network.modules():
        if isinstance(layer, nn.Linear | nn.Conv2d):
            nn.init.kaiming_normal_(layer.weight)
            assert layer.bias is not None
            nn.init.zeros_(layer.bias)
