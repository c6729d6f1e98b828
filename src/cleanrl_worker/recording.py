"""The run recorder: the one thing through which an algorithm speaks and is spoken to.

It logs (TensorBoard, metrics.jsonl, the channel), keeps the time budget, knows the step, holds the
random state, and says when to stop.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING

import numpy as np

from cleanrl_worker.channel import Channel
from cleanrl_worker.envs.observations import Array
from cleanrl_worker.envs.vector import EnvBatch, Episode
from mosaic.contracts.events import finite
from mosaic.contracts.metrics import find_metric

if TYPE_CHECKING:
    from cleanrl_worker.tensorboard import TensorBoardWriter

FLUSH_INTERVAL_S = 1.0


class TimeBudget:
    """Where the time goes: each lap is added to the account that it names."""

    def __init__(self) -> None:
        self._accounts: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, account: str) -> None:
        now = time.perf_counter()
        self._accounts[account] = self._accounts.get(account, 0.0) + now - self._last
        self._last = now

    def shares(self) -> dict[str, float]:
        total = sum(self._accounts.values()) or 1.0
        return {f"time/{name}": seconds / total for name, seconds in self._accounts.items()}


class MetricFile:
    """metrics.jsonl: the full series, a line for every step at which something was logged."""

    def __init__(self, path: Path) -> None:
        self._file: IO[str] = path.open("a", encoding="utf-8", buffering=1 << 16)
        self._next_flush = 0.0

    def write(self, step: int, values: Mapping[str, float]) -> None:
        now = time.time()
        row = {"step": step, "time": now, "values": finite(values)}
        self._file.write(json.dumps(row, separators=(",", ":")) + "\n")
        if now >= self._next_flush:
            self._file.flush()
            self._next_flush = now + FLUSH_INTERVAL_S

    def close(self) -> None:
        self._file.close()


class Run:
    """A training run as its algorithm sees it. Used by one thread."""

    def __init__(
        self,
        *,
        total_timesteps: int,
        seed: int,
        channel: Channel,
        metrics: MetricFile | None,
        tensorboard: TensorBoardWriter | None,
    ) -> None:
        self.step = 0
        self.total_timesteps = total_timesteps
        self.seed = seed
        self.rng = np.random.default_rng(seed)
        self.should_stop = False
        self.budget = TimeBudget()
        self._channel = channel
        self._metrics = metrics
        self._tensorboard = tensorboard
        self._started = time.perf_counter()

    def begin(self, envs: EnvBatch) -> Array:
        """Start the environments, and with them the clock."""
        obs = envs.reset(self.seed)
        self._started = time.perf_counter()
        self.budget = TimeBudget()
        return obs

    @property
    def steps_per_second(self) -> float:
        return self.step / max(time.perf_counter() - self._started, 1e-9)

    def log(self, values: Mapping[str, float], *, x: int | None = None) -> None:
        """Record scalars at the present step, or at another x."""
        assert all(find_metric(tag) for tag in values), f"not in the metric catalogue: {values}"
        step = self.step if x is None else x
        values = {tag: float(value) for tag, value in values.items()}
        self._channel.send("metric", step=step, values=values)
        if self._metrics is not None:
            self._metrics.write(step, values)
        if self._tensorboard is not None:
            self._tensorboard.scalars(step, values)

    def log_episodes(self, episodes: Iterable[Episode]) -> None:
        for episode in episodes:
            self.log(
                {
                    "charts/episodic_return": episode.total_reward,
                    "charts/episodic_length": episode.length,
                }
            )

    def log_speed(self) -> None:
        """Record the steps a second and the time budget."""
        self.log({"charts/SPS": int(self.steps_per_second), **self.budget.shares()})

    def close(self) -> None:
        if self._metrics is not None:
            self._metrics.close()
        if self._tensorboard is not None:
            self._tensorboard.close()
