"""Networks with a long short-term memory (Hochreiter and Schmidhuber 1997) behind their encoder."""

from __future__ import annotations

from collections.abc import Callable

import gymnasium as gym
import torch
from torch import Tensor, nn

from cleanrl_worker.agents.encoders import encoder_for, normalised_encoder_for
from cleanrl_worker.agents.layers import linear
from cleanrl_worker.envs.observations import Array

HIDDEN = 128
State = tuple[Tensor, Tensor]  # hidden and cell state, [1, environment, unit]
Advance = Callable[[Array, State], tuple[Array, Array, State]]
Evaluate = Callable[[Array, State], tuple[Array, State]]


class LSTMAgent(nn.Module):
    """Actor and critic on one memory; the parts are named as in CleanRL's ppo_atari_lstm."""

    def __init__(self, observation_space: gym.spaces.Box, outputs: int) -> None:
        super().__init__()
        encoder = encoder_for(observation_space)
        self.network = encoder.layers
        self._prepare = encoder.prepare
        self.lstm = memory(encoder.features)
        self.actor = linear(HIDDEN, outputs, gain=0.01)
        self.critic = linear(HIDDEN, 1, gain=1.0)

    def forward(
        self, obs: Tensor, state: State, ends: Tensor | None = None
    ) -> tuple[Tensor, Tensor, State]:
        """Return outputs and values of [step, environment], and the state after the last step."""
        steps, rows = obs.shape[:2]
        features = self.network(self._prepare(obs.flatten(0, 1))).view(steps, rows, -1)
        remembered, state = unroll(self.lstm, features, state, ends)
        return self.actor(remembered), self.critic(remembered).squeeze(-1), state


class LSTMQNetwork(nn.Module):
    """Values of actions on a memory; the parts are named as in CleanRL's pqn_atari_envpool_lstm."""

    def __init__(self, observation_space: gym.spaces.Box, actions: int) -> None:
        super().__init__()
        encoder = normalised_encoder_for(observation_space)
        self.network = encoder.layers
        self._prepare = encoder.prepare
        self.lstm = memory(encoder.features)
        self.q_func = linear(HIDDEN, actions)

    def forward(
        self, obs: Tensor, state: State, ends: Tensor | None = None
    ) -> tuple[Tensor, State]:
        """Return action values of [step, environment], and the state after the last step."""
        steps, rows = obs.shape[:2]
        features = self.network(self._prepare(obs.flatten(0, 1))).view(steps, rows, -1)
        remembered, state = unroll(self.lstm, features, state, ends)
        return self.q_func(remembered), state


def memory(features: int) -> nn.LSTM:
    """Return a memory with orthogonal weights and no bias at the start."""
    lstm = nn.LSTM(features, HIDDEN)
    for name, weights in lstm.named_parameters():
        if "bias" in name:
            nn.init.zeros_(weights)
        else:
            nn.init.orthogonal_(weights, 1.0)
    return lstm


def empty_state(rows: int, device: torch.device) -> State:
    return torch.zeros(1, rows, HIDDEN, device=device), torch.zeros(1, rows, HIDDEN, device=device)


def cleared(state: State, ended: Tensor) -> State:
    """Return the state with nothing left of the episodes that ended."""
    stays = (~ended).to(state[0].dtype)[None, :, None]
    return state[0] * stays, state[1] * stays


def unroll(
    lstm: nn.LSTM, features: Tensor, state: State, ends: Tensor | None
) -> tuple[Tensor, State]:
    """Run features of [step, environment] through the memory, which ends with each episode.

    `ends[t]` says that an episode ended with step t. The steps between two ends, whichever
    environments these are in, are one call.
    """
    stops = [] if ends is None else (ends.any(1).nonzero().flatten() + 1).tolist()
    remembered, start = [], 0
    for stop in stops:
        part, state = lstm(features[start:stop], state)
        remembered.append(part)
        assert ends is not None
        state, start = cleared(state, ends[stop - 1]), stop
    if start < len(features):
        part, state = lstm(features[start:], state)
        remembered.append(part)
    return torch.cat(remembered), state


def advancing(agent: nn.Module, device: torch.device) -> Advance:
    """Return a function that takes one step: from observations and state to what follows."""

    def advance(obs: Array, state: State) -> tuple[Array, Array, State]:
        with torch.no_grad():  # an update starts from a state, which inference mode would forbid
            outputs, values, state = agent(torch.from_numpy(obs[None]).to(device), state)
        return outputs[0].cpu().numpy(), values[0].cpu().numpy(), state

    return advance


def evaluating(agent: nn.Module, device: torch.device) -> Evaluate:
    """Return a function that takes one step: from observations and state to values and state."""

    def evaluate(obs: Array, state: State) -> tuple[Array, State]:
        with torch.no_grad():
            values, state = agent(torch.from_numpy(obs[None]).to(device), state)
        return values[0].cpu().numpy(), state

    return evaluate
