"""Means over the last finished games."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cleanrl_worker.envs.vector import Episode

WINDOW = 20  # games


class RecentGames:
    """Returns and lengths of the last games; a checkpoint holds them, since means are logged."""

    def __init__(self) -> None:
        self._returns: deque[float] = deque(maxlen=WINDOW)
        self._lengths: deque[int] = deque(maxlen=WINDOW)

    def note(self, episodes: Iterable[Episode]) -> None:
        for episode in episodes:
            self._returns.append(episode.total_reward)
            self._lengths.append(episode.length)

    def means(self) -> dict[str, float]:
        if not self._returns:
            return {}
        return {
            "charts/avg_episodic_return": sum(self._returns) / len(self._returns),
            "charts/avg_episodic_length": sum(self._lengths) / len(self._lengths),
        }

    def state_dict(self) -> dict[str, Any]:
        return {"returns": list(self._returns), "lengths": list(self._lengths)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._returns = deque(map(float, state["returns"]), maxlen=WINDOW)
        self._lengths = deque(map(int, state["lengths"]), maxlen=WINDOW)
