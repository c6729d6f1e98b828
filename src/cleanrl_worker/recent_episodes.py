"""Lengths and durations of the last episodes."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from cleanrl_worker.envs.vector import Episode
from cleanrl_worker.recording import RETURN_WINDOW


class RecentEpisodes:
    """Lengths and seconds of the last episodes; a checkpoint holds them, since means are logged."""

    def __init__(self, num_envs: int) -> None:
        self._lengths: deque[int] = deque(maxlen=RETURN_WINDOW)
        self._seconds: deque[float] = deque(maxlen=RETURN_WINDOW)
        self._begun = [time.perf_counter()] * num_envs

    def note(self, episodes: Sequence[Episode]) -> None:
        for episode in episodes:
            now = time.perf_counter()
            self._lengths.append(episode.length)
            self._seconds.append(now - self._begun[episode.env])
            self._begun[episode.env] = now

    def means(self) -> dict[str, float]:
        if not self._lengths:
            return {}
        return {
            "episode/l_mean": sum(self._lengths) / len(self._lengths),
            "episode/t_mean": sum(self._seconds) / len(self._seconds),
        }

    def state_dict(self) -> dict[str, Any]:
        return {"lengths": list(self._lengths), "seconds": list(self._seconds)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._lengths.extend(map(int, state["lengths"]))
        self._seconds.extend(map(float, state["seconds"]))
