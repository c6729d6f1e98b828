"""The learned table of a BDI agent as a player of the interactive protocol, without its server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium

from mosaic.contracts.errors import ConfigError
from mosaic.workers.solo.checkpoints import read_checkpoint
from mosaic.workers.solo.settings import RunSettings
from mosaic.workers.solo.table import Rules, Table, Title


class Greedy:
    """Takes the best known action of each state, as the agent's plans do."""

    def __init__(self, values: list[list[float]]) -> None:
        self._values = values
        self._state = 0

    def begin(self, observation: Any) -> None:
        self._state = int(observation)

    def act(self) -> int:
        row = self._values[self._state]
        return row.index(max(row))

    def see(self, action: int, observation: Any, reward: float) -> None:
        self._state = int(observation)


def make_table(settings: RunSettings) -> Table:
    path = settings.options.get("policy_path")
    if not path:
        raise ConfigError("--policy-path is missing: name a checkpoint or a policy of the worker.")
    document = read_checkpoint(Path(path), algo=settings.algo)
    env = gymnasium.make(settings.env_id, render_mode="rgb_array")
    actions = tuple(str(number) for number in range(int(env.action_space.n)))  # type: ignore[attr-defined]
    title = Title(settings.env_id, settings.algo, policy_path=str(path))
    policy = Greedy(document["state"]["values"])
    return Table(env, Rules(actions), title, settings.seed, policy)
