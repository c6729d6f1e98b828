"""A Transformer-XL with an episode's hidden states as its memory (Pleines et al. 2023)."""

from __future__ import annotations

import math
from collections.abc import Callable

import gymnasium as gym
import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy

from cleanrl_worker.agents.encoders import flat_numbers, is_picture
from cleanrl_worker.agents.layers import SQRT2, linear
from cleanrl_worker.agents.memories import Recalled, Shape
from cleanrl_worker.agents.nature import nature_layers, scaled

COLOUR_PICTURE = (84, 84, 3)  # rows, columns, channels: as Memory Gym and MiniGrid show them
LONGEST_TIMESCALE = 1e4
_HIDDEN_SCORE = -1e20


class Attention(nn.Module):
    """Several heads that share their projections, over the steps that are not hidden."""

    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        size = dim // heads
        self._heads, self._scale = heads, 1 / math.sqrt(dim)
        self.values = nn.Linear(size, size, bias=False)
        self.keys = nn.Linear(size, size, bias=False)
        self.queries = nn.Linear(size, size, bias=False)
        self.fc_out = nn.Linear(dim, dim)

    def forward(self, memory: Tensor, query: Tensor, seen: Tensor) -> Tensor:
        rows, steps, dim = memory.shape
        by_head = memory.view(rows, steps, self._heads, dim // self._heads)
        queries = self.queries(query.view(rows, self._heads, -1))
        scores = torch.einsum("nhd,nkhd->nhk", queries, self.keys(by_head)) * self._scale
        hidden = ~seen[:, None]
        weights = scores.masked_fill(hidden, _HIDDEN_SCORE).softmax(-1)
        # In an episode's first step all are hidden: nothing is recalled then, not their mean.
        weights = weights.masked_fill(hidden, 0.0)
        recalled = torch.einsum("nhk,nkhd->nhd", weights, self.values(by_head)).flatten(1)
        attended: Tensor = self.fc_out(recalled)
        return attended


class Layer(nn.Module):
    """Attention, then one linear layer; normalised before each, and added to what comes in."""

    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.attention = Attention(dim, heads)
        self.layer_norm_q = nn.LayerNorm(dim)
        self.norm_kv = nn.LayerNorm(dim)
        self.layer_norm_attn = nn.LayerNorm(dim)
        self.fc_projection = nn.Sequential(nn.Linear(dim, dim), nn.ReLU())

    def forward(self, memory: Tensor, x: Tensor, seen: Tensor) -> Tensor:
        x = x + self.attention(self.norm_kv(memory), self.layer_norm_q(x), seen)
        projected: Tensor = self.fc_projection(self.layer_norm_attn(x))
        return x + projected


class Waves(nn.Module):
    """Positions as sines and cosines of rising wavelength (Vaswani et al. 2017)."""

    inv_freqs: Tensor

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.register_buffer("inv_freqs", LONGEST_TIMESCALE ** (-torch.arange(0, dim, 2.0) / dim))

    def forward(self, positions: Tensor) -> Tensor:
        angles = positions[..., None] * self.inv_freqs
        return torch.cat((angles.sin(), angles.cos()), -1)


class Transformer(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.pos_embedding: Waves | nn.Parameter | None = None
        if shape.positions == "absolute":
            self.pos_embedding = Waves(shape.dim)
        elif shape.positions == "learned":
            self.pos_embedding = nn.Parameter(torch.randn(shape.longest_episode, shape.dim))
        self.transformer_layers = nn.ModuleList(
            Layer(shape.dim, shape.heads) for _ in range(shape.layers)
        )

    def forward(self, x: Tensor, recalled: Recalled) -> tuple[Tensor, Tensor]:
        """Return the features, and the hidden states of this step: [row, layer, unit]."""
        states, ages = recalled
        steps = states.shape[1]
        # The last of them is one step old, the first as many as there are.
        episode_steps = ages[:, None] - torch.arange(steps, 0, -1, device=ages.device)
        seen = episode_steps >= 0
        states = states + self._positions(episode_steps)[:, :, None]
        hidden = []
        for number, layer in enumerate(self.transformer_layers):
            hidden.append(x.detach())
            x = layer(states[:, :, number], x, seen)
        return x, torch.stack(hidden, 1)

    def _positions(self, episode_steps: Tensor) -> Tensor:
        last = self.shape.longest_episode - 1
        if isinstance(self.pos_embedding, Waves):
            positions: Tensor = self.pos_embedding(last - episode_steps)
            return positions
        if isinstance(self.pos_embedding, nn.Parameter):
            return self.pos_embedding[episode_steps.clamp(0, last)]
        return torch.zeros(*episode_steps.shape, self.shape.dim, device=episode_steps.device)


class TransformerAgent(nn.Module):
    """Actor and critic on one transformer; the parts are named as in CleanRL's ppo_trxl."""

    def __init__(
        self,
        observation_space: gym.spaces.Box,
        branches: list[int],
        shape: Shape,
        *,
        reconstructs: bool,
    ) -> None:
        super().__init__()
        self.encoder, self._prepare = _encoder(observation_space, shape.dim)
        self.transformer = Transformer(shape)
        self.hidden_post_trxl = nn.Sequential(linear(shape.dim, shape.dim), nn.ReLU())
        self.actor_branches = nn.ModuleList(linear(shape.dim, n, gain=0.1) for n in branches)
        self.critic = linear(shape.dim, 1, gain=1.0)
        self.transposed_cnn: nn.Sequential | None = None
        if reconstructs:
            self.transposed_cnn = _decoder(observation_space, shape.dim)

    def forward(self, obs: Tensor, recalled: Recalled) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return outputs, values, this step's hidden states, and the features behind them all."""
        features, hidden = self.transformer(self.encoder(self._prepare(obs)), recalled)
        features = self.hidden_post_trxl(features)
        outputs = torch.cat([branch(features) for branch in self.actor_branches], -1)
        return outputs, self.critic(features).squeeze(-1), hidden, features

    def reconstruction_loss(self, obs: Tensor, features: Tensor) -> Tensor:
        """Return the cross-entropy of the pictures that the features stand for."""
        assert self.transposed_cnn is not None
        return binary_cross_entropy(self.transposed_cnn(features), self._prepare(obs))


def can_be_reconstructed(space: gym.spaces.Box) -> bool:
    return is_picture(space) or space.shape == COLOUR_PICTURE


def _encoder(space: gym.spaces.Box, dim: int) -> tuple[nn.Module, Callable[[Tensor], Tensor]]:
    if is_picture(space):
        return nature_layers(space.shape[0], dim), scaled
    if space.shape == COLOUR_PICTURE:
        return nature_layers(COLOUR_PICTURE[-1], dim), _channels_first
    return linear(math.prod(space.shape), dim), flat_numbers


def _channels_first(obs: Tensor) -> Tensor:
    return scaled(obs.permute(0, 3, 1, 2))


def _decoder(space: gym.spaces.Box, dim: int) -> nn.Sequential:
    """Return the encoder's layers turned round."""
    channels = space.shape[0] if is_picture(space) else COLOUR_PICTURE[-1]
    return nn.Sequential(
        linear(dim, 64 * 7 * 7),
        nn.ReLU(),
        nn.Unflatten(1, (64, 7, 7)),
        _transposed(64, 64, 3, stride=1),
        nn.ReLU(),
        _transposed(64, 32, 4, stride=2),
        nn.ReLU(),
        _transposed(32, channels, 8, stride=4),
        nn.Sigmoid(),
    )


def _transposed(inputs: int, outputs: int, size: int, *, stride: int) -> nn.ConvTranspose2d:
    layer = nn.ConvTranspose2d(inputs, outputs, size, stride)
    nn.init.orthogonal_(layer.weight, SQRT2)
    assert layer.bias is not None
    nn.init.zeros_(layer.bias)
    return layer
