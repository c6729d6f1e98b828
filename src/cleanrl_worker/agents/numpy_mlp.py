"""Small networks evaluated by NumPy on the same memory.

A forward pass of a 64-unit network costs torch about 100 microseconds, nearly all of it dispatch.
The arrays here are views of the parameters, so an in-place optimiser step is seen at once.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from torch import nn

from cleanrl_worker.envs.observations import Array

Layer = Callable[[Array], Array]
_ZERO = np.zeros((), np.float32)


def numpy_mlp(network: nn.Sequential) -> Layer:
    """Return the network as a function of a float32 batch; it begins with a linear layer."""
    layers = [_layer(module) for module in network]

    def forward(x: Array) -> Array:
        for layer in layers:
            x = layer(x)
        return x

    return forward


def _layer(module: nn.Module) -> Layer:
    if isinstance(module, nn.Linear):
        return _linear(module)
    if isinstance(module, nn.LayerNorm):
        return _layer_norm(module)
    if isinstance(module, nn.Tanh):
        return lambda x: np.tanh(x, out=x)
    assert isinstance(module, nn.ReLU), f"no NumPy form of {module}"
    return lambda x: np.maximum(x, _ZERO, out=x)


def _linear(module: nn.Linear) -> Layer:
    weight, bias = module.weight.detach().numpy().T, module.bias.detach().numpy()

    def forward(x: Array) -> Array:
        y: Array = x.dot(weight)  # `@` asks more questions first
        y += bias
        return y

    return forward


def _layer_norm(module: nn.LayerNorm) -> Layer:
    weight, bias = module.weight.detach().numpy(), module.bias.detach().numpy()
    epsilon = np.float32(module.eps)

    def forward(x: Array) -> Array:
        x = x - x.mean(-1, keepdims=True)
        x /= np.sqrt(np.square(x).mean(-1, keepdims=True) + epsilon)
        x *= weight
        x += bias
        return x

    return forward
