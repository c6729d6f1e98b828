"""Acting: from observations as arrays to a network's outputs as arrays, the cheapest way."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import nn

from cleanrl_worker.agents.mlp import GaussianMLPAgent, MLPAgent
from cleanrl_worker.agents.numpy_mlp import numpy_mlp
from cleanrl_worker.agents.torch_inference import by_torch
from cleanrl_worker.envs.observations import Array

Forward = Callable[[Array], tuple[Array, Array]]
Infer = Callable[[Array], Array]


def inference(agent: nn.Module, device: torch.device) -> Forward:
    """Return a function from observations to the actor's outputs and the values."""
    if device.type == "cpu" and isinstance(agent, MLPAgent):
        return _apart(agent.actor, agent.critic) if agent.trunk is None else _on_trunk(agent)
    if device.type == "cpu" and isinstance(agent, GaussianMLPAgent):
        return _gaussian(agent)

    both = by_torch(agent, device)

    def forward(obs: Array) -> tuple[Array, Array]:
        outputs, values = both(obs)
        return outputs, values

    return forward


def flat_rows(obs: Array) -> Array:
    if obs.ndim == 2 and obs.dtype == np.float32:
        return obs
    return obs.reshape(len(obs), -1).astype(np.float32, copy=False)


def _apart(actor: nn.Sequential, critic: nn.Sequential) -> Forward:
    act, value = numpy_mlp(actor), numpy_mlp(critic)

    def forward(obs: Array) -> tuple[Array, Array]:
        rows = flat_rows(obs)
        return act(rows), value(rows)[:, 0]

    return forward


def _on_trunk(agent: MLPAgent) -> Forward:
    assert agent.trunk is not None
    trunk, heads = numpy_mlp(agent.trunk), _apart(agent.actor, agent.critic)
    return lambda obs: heads(trunk(flat_rows(obs)))


def _gaussian(agent: GaussianMLPAgent) -> Forward:
    forward = _apart(agent.actor_mean, agent.critic)
    log_std = agent.actor_logstd.detach().numpy()

    def with_log_std(obs: Array) -> tuple[Array, Array]:
        means, values = forward(obs)
        return np.concatenate((means, np.broadcast_to(log_std, means.shape)), -1), values

    return with_log_std


def infer(network: nn.Module, layers: nn.Sequential | None, device: torch.device) -> Infer:
    """Return a function from observations to a network's only output.

    `layers` are those of a small network that NumPy evaluates; None for any other network.
    """
    if layers is not None and device.type == "cpu":
        forward = numpy_mlp(layers)
        return lambda obs: forward(flat_rows(obs))

    only = by_torch(network, device)
    return lambda obs: only(obs)[0]
