"""The run of this worker: a person plays until they stop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from human_worker.dataset import Dataset, can_write
from human_worker.games import make_table
from mosaic.contracts.interactive import socket_path
from mosaic.contracts.parameters import build, param
from mosaic.workers.solo.line import serve_socket
from mosaic.workers.solo.recorder import RunRecorder
from mosaic.workers.solo.settings import RunSettings
from mosaic.workers.solo.table import Table


@dataclass(frozen=True)
class Config:
    env_id: str = param("FrozenLake-v1", "Environment id.", group="run")
    total_timesteps: int = param(
        100_000, "Steps after which the run ends.", unit="steps", range=(1, None), group="run"
    )
    idle_limit_s: float = param(
        600.0, "End the run when nobody has been at it for so long.", unit="s", range=(1, None)
    )


class HumanRun:
    """One run, prepared: the game is on the table."""

    def __init__(self, settings: RunSettings) -> None:
        self._settings = settings
        self._config = build(Config, {**settings.params, "env_id": settings.env_id})
        self._table = make_table(settings.env_id, settings.seed, settings.run_id)
        self._table.env.reset(seed=settings.seed)

    def summary(self) -> dict[str, Any]:
        table = self._table
        return {
            "callable": "HumanRun",
            "env": {
                "id": self._settings.env_id,
                "family": "gymnasium",
                "observation_space": str(table.env.observation_space),
                "action_space": str(table.env.action_space),
            },
            "agent": {"keys": table.game.keys, "actions": list(table.game.actions)},
        }

    def run(self, recorder: RunRecorder) -> None:
        table = self._table
        record = Record(recorder, table)
        table.listener = record
        total = self._settings.total_timesteps or 1
        try:
            serve_socket(
                table,
                socket_path(self._settings.run_id),
                lambda: recorder.should_stop or record.steps >= total,
                self._config.idle_limit_s,
            )
            table.give_up()
        finally:
            table.close()


class Record:
    """Tells the recorder of every step, and keeps the episodes as a dataset."""

    def __init__(self, recorder: RunRecorder, table: Table) -> None:
        self.steps = 0
        self._recorder = recorder
        self._dataset: Dataset | None = None
        if can_write():
            self._dataset = Dataset(recorder.paths.dataset, table.env, table.title.env_id)
        self._episode: dict[str, list[Any]] = {}

    def began(self, episode: int, seed: int, observation: Any) -> None:
        names = ("actions", "rewards", "terminations", "truncations")
        self._episode = {"observations": [observation], **{name: [] for name in names}}

    def stepped(self, episode: int, step: int, seed: int, fields: Mapping[str, Any]) -> None:
        told = {name: value for name, value in fields.items() if name != "raw"}
        self._recorder.step(episode, step, seed, info={}, **told)
        self.steps += 1
        self._recorder.at_step(self.steps)
        for name, key in (
            ("observations", "raw"),
            ("actions", "action"),
            ("rewards", "reward"),
            ("terminations", "terminated"),
            ("truncations", "truncated"),
        ):
            self._episode[name].append(fields[key])

    def ended(self, episode: int, seed: int, fields: Mapping[str, Any]) -> None:
        self._recorder.episode(episode, seed=seed, metadata={"player": "human"}, **fields)
        self._recorder.metrics(
            self.steps,
            {
                "charts/episodic_return": fields["total_reward"],
                "charts/episodic_length": float(fields["steps"]),
            },
        )
        if self._dataset is not None and self._episode["rewards"]:
            self._episode["truncations"][-1] = bool(fields["truncated"])
            self._dataset.add(seed, self._episode, {})
