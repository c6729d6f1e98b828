"""Acting without torch's overhead: small networks are evaluated by NumPy on the same memory.

A forward pass of a 64-unit network costs torch about 100 microseconds, nearly all of it dispatch.
The arrays here are views of the parameters, so an in-place optimiser step is seen at once.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import nn

from cleanrl_worker.agents.mlp import GaussianMLPAgent, MLPAgent
from cleanrl_worker.envs.observations import Array

Forward = Callable[[Array], tuple[Array, Array]]
_Layers = list[tuple[Array, Array, bool]]


def inference(agent: nn.Module, device: torch.device) -> Forward:
    """Return a function from observations to the actor's outputs and the values, as arrays."""
    if device.type == "cpu" and isinstance(agent, MLPAgent):
        return _numpy_forward(agent.trunk, agent.actor, agent.critic)
    if device.type == "cpu" and isinstance(agent, GaussianMLPAgent):
        return _with_log_std(agent, _numpy_forward(None, agent.actor_mean, agent.critic))

    def forward(obs: Array) -> tuple[Array, Array]:
        with torch.inference_mode():
            outputs, values = agent(torch.from_numpy(obs).to(device))
        return outputs.cpu().numpy(), values.cpu().numpy()

    return forward


def _numpy_forward(
    trunk: nn.Sequential | None, actor: nn.Sequential, critic: nn.Sequential
) -> Forward:
    shared = _layers(trunk) if trunk is not None else []
    actor_layers, critic_layers = _layers(actor), _layers(critic)

    def forward(obs: Array) -> tuple[Array, Array]:
        features = _apply(shared, obs.reshape(len(obs), -1).astype(np.float32, copy=False))
        return _apply(actor_layers, features), _apply(critic_layers, features)[:, 0]

    return forward


def _with_log_std(agent: GaussianMLPAgent, forward: Forward) -> Forward:
    log_std = agent.actor_logstd.detach().numpy()

    def with_log_std(obs: Array) -> tuple[Array, Array]:
        means, values = forward(obs)
        return np.concatenate((means, np.broadcast_to(log_std, means.shape)), -1), values

    return with_log_std


def _layers(network: nn.Sequential) -> _Layers:
    """Return each linear layer's weight (transposed), bias, and whether a tanh follows."""
    modules = list(network)
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
