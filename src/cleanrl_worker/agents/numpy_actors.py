"""Actors for continuous actions evaluated by NumPy, on the same memory as torch's."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from cleanrl_worker.agents.continuous import (
    LOG_STD_MAX,
    LOG_STD_MIN,
    DeterministicActor,
    SquashedGaussianActor,
)
from cleanrl_worker.agents.inference import Forward, Infer, flat_rows, infer
from cleanrl_worker.agents.numpy_mlp import numpy_mlp
from cleanrl_worker.agents.torch_inference import by_torch
from cleanrl_worker.envs.observations import Array


def infer_actions(actor: DeterministicActor, device: torch.device) -> Infer:
    """Return a function from observations to the actor's actions."""
    if device.type != "cpu":
        return infer(actor, None, device)
    forward = numpy_mlp(
        nn.Sequential(actor.fc1, nn.ReLU(), actor.fc2, nn.ReLU(), actor.fc_mu, nn.Tanh())
    )
    scale, bias = actor.action_scale.numpy(), actor.action_bias.numpy()
    return lambda obs: forward(flat_rows(obs)) * scale + bias


def infer_gaussian(actor: SquashedGaussianActor, device: torch.device) -> Forward:
    """Return a function from observations to means and log standard deviations."""
    if device.type != "cpu":
        both = by_torch(actor, device)

        def forward(obs: Array) -> tuple[Array, Array]:
            means, log_stds = both(obs)
            return means, log_stds

        return forward
    features = numpy_mlp(nn.Sequential(actor.fc1, nn.ReLU(), actor.fc2, nn.ReLU()))
    mean, log_std = (
        numpy_mlp(nn.Sequential(actor.fc_mean)),
        numpy_mlp(nn.Sequential(actor.fc_logstd)),
    )
    half = np.float32(0.5 * (LOG_STD_MAX - LOG_STD_MIN))

    def by_numpy(obs: Array) -> tuple[Array, Array]:
        x = features(flat_rows(obs))
        return mean(x), LOG_STD_MIN + half * (np.tanh(log_std(x)) + 1)

    return by_numpy
