"""Acting without torch's overhead: small networks are evaluated by NumPy on the same memory.

A forward pass of a 64-unit network costs torch about 100 microseconds, nearly all of it dispatch.
The arrays here are views of the parameters, so an in-place optimiser step is seen at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn

from cleanrl_worker.agents.mlp import MLPAgent
from cleanrl_worker.envs.observations import Array

Forward = Callable[[Array], tuple[Array, Array]]
_Layers = list[tuple[Array, Array, bool]]


def inference(agent: nn.Module, device: torch.device) -> Forward:
    """Return a function from observations to the actor's outputs and the values, as arrays."""
    if isinstance(agent, MLPAgent) and device.type == "cpu":
        return _numpy_forward(agent)

    def forward(obs: Array) -> tuple[Array, Array]:
        with torch.inference_mode():
            outputs, values = agent(torch.from_numpy(obs).to(device))
        return outputs.cpu().numpy(), values.cpu().numpy()

    return forward


def _numpy_forward(agent: MLPAgent) -> Forward:
    trunk = _layers(agent.trunk) if agent.trunk is not None else []
    actor, critic = _layers(agent.actor), _layers(agent.critic)

    def forward(obs: Array) -> tuple[Array, Array]:
        features = obs.reshape(len(obs), -1).astype(np.float32, copy=False)
        features = _apply(trunk, features)
        return _apply(actor, features), _apply(critic, features)[:, 0]

    return forward


def _layers(network: nn.Sequential) -> _Layers:
    """Return each linear layer's weight (transposed), bias, and whether a tanh follows."""
    modules: list[Any] = list(network)
    found: _Layers = []
    for index, module in enumerate(modules):
        if isinstance(module, nn.Linear):
            tanh_follows = index + 1 < len(modules)
            weight = module.weight.detach().numpy().T
            found.append((weight, module.bias.detach().numpy(), tanh_follows))
    return found


def _apply(layers: _Layers, x: Array) -> Array:
    for weight, bias, tanh_follows in layers:
        x = x @ weight
        x += bias
        if tanh_follows:
            np.tanh(x, out=x)
    return x
