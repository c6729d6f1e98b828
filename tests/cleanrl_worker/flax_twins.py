"""Torch weights as flax's, so that two frameworks can be asked the same question."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import nn


def dense(layer: nn.Linear) -> dict[str, np.ndarray]:
    return {
        "kernel": layer.weight.detach().numpy().T.copy(),
        "bias": layer.bias.detach().numpy().copy(),
    }


def conv(layer: nn.Conv2d) -> dict[str, np.ndarray]:
    """Torch keeps [out, in, rows, columns], flax [rows, columns, in, out]."""
    assert layer.bias is not None
    return {
        "kernel": layer.weight.detach().numpy().transpose(2, 3, 1, 0).copy(),
        "bias": layer.bias.detach().numpy().copy(),
    }


def dense_after_conv(layer: nn.Linear, channels: int) -> dict[str, np.ndarray]:
    """Torch flattens channels first, flax last."""
    outputs, inputs = layer.weight.shape
    side = round((inputs / channels) ** 0.5)
    weight = layer.weight.detach().numpy().reshape(outputs, channels, side, side)
    return {
        "kernel": weight.transpose(2, 3, 1, 0).reshape(inputs, outputs).copy(),
        "bias": layer.bias.detach().numpy().copy(),
    }


def layers(network: nn.Module) -> dict[str, Any]:
    """Return the layers of a network in their order, under flax's names."""
    found: dict[str, Any] = {}
    channels = 0
    for layer in network.modules():
        if isinstance(layer, nn.Conv2d):
            found[f"Conv_{sum(name.startswith('Conv') for name in found)}"] = conv(layer)
            channels = layer.out_channels
        elif isinstance(layer, nn.Linear):
            name = f"Dense_{sum(name.startswith('Dense') for name in found)}"
            found[name] = dense_after_conv(layer, channels) if channels else dense(layer)
            channels = 0
    return found


def transitions(
    obs: torch.Tensor, next_obs: torch.Tensor, actions: torch.Tensor, generator: torch.Generator
) -> dict[str, torch.Tensor]:
    """Return transitions by the names of both frameworks' batches."""
    size = len(obs)
    return {
        "obs": obs,
        "actions": actions,
        "rewards": torch.randn(size, generator=generator),
        "next_obs": next_obs,
        "ends": (torch.rand(size, generator=generator) < 0.3).float(),
    }
