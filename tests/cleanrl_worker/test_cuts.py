"""Cuts: when a run leaves a checkpoint, of which kind, and what it does when it cannot."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from cleanrl_worker.channel import Channel
from cleanrl_worker.checkpoint import read_checkpoint
from cleanrl_worker.checkpoint_document import find_checkpoints, read_document
from cleanrl_worker.cuts import Checkpoints, Stateful, resolve_interval
from cleanrl_worker.envs.build import build_envs
from cleanrl_worker.envs.registry import resolve
from cleanrl_worker.envs.vector import EnvBatch
from cleanrl_worker.recording import Run
from cleanrl_worker.sinks import MetricFile
from mosaic.contracts.errors import ConfigError
from tests.cleanrl_worker.checkpoint_files import DESCRIPTION
from tests.cleanrl_worker.test_replay_crashes import no_room

INTERVAL = 100


@pytest.fixture
def envs() -> Iterator[EnvBatch]:
    envs = build_envs(resolve("CartPole-v1"), 2)
    yield envs
    envs.close()


class Session:
    """A run with a network to save, and a worker that listens."""

    def __init__(self, directory: Path, envs: EnvBatch) -> None:
        self.envs = envs
        self.directory = directory
        self._pipe = os.pipe()
        self.run = Run(
            total_timesteps=1000,
            seed=1,
            channel=Channel(self._pipe[1]),
            sinks=[MetricFile(directory / "metrics.jsonl")],
            checkpoints=Checkpoints(directory / "checkpoints", INTERVAL, keep=2, last_step=0),
            description=DESCRIPTION,
        )
        self.obs = self.run.begin(envs, agent=torch.nn.Linear(64, 64))

    def boundary_at(self, step: int) -> bool:
        """Stand at a boundary; say whether it was a cut."""
        self.run.step = step
        before, self.obs = self.obs, self.run.boundary(self.envs, self.obs)
        return self.obs is not before

    def kinds(self) -> dict[int, bool]:
        """Return of every checkpoint whether it is exact, by step."""
        found = find_checkpoints(self.directory / "checkpoints")
        return {read_checkpoint(path).step: read_checkpoint(path).is_exact for path in found}

    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in os.read(self._pipe[0], 1 << 16).splitlines()]

    def close(self) -> None:
        self.run.close()
        for descriptor in self._pipe:
            os.close(descriptor)


@pytest.fixture
def session(tmp_path: Path, envs: EnvBatch) -> Iterator[Session]:
    session = Session(tmp_path, envs)
    yield session
    session.close()


def test_a_cut_is_made_at_the_first_boundary_past_each_interval(session: Session) -> None:
    cuts = [step for step in range(30, 400, 30) if session.boundary_at(step)]
    assert cuts == [120, 210, 300]
    assert session.kinds() == {210: True, 300: True}, "two are kept"


def test_after_a_cut_the_environments_start_from_a_seed_of_their_own(session: Session) -> None:
    first = session.obs
    assert session.boundary_at(100)
    second = session.obs
    assert session.boundary_at(200)
    assert not np.array_equal(first, second)
    assert not np.array_equal(second, session.obs)


def test_a_stop_between_two_cuts_leaves_an_extra_checkpoint(session: Session) -> None:
    for step in (100, 200, 300):
        session.boundary_at(step)
    session.run.should_stop = True
    assert not session.boundary_at(330), "an extra checkpoint is no cut"
    assert session.kinds() == {200: True, 300: True, 330: False}, "it does not count as kept"
    assert session.events()[-1] == {
        "kind": "checkpoint_saved",
        "path": f"{session.directory}/checkpoints/step-330.ckpt",
        "step": 330,
        "exact": False,
        "mean_return": None,
    }


def test_a_stop_at_a_cut_leaves_the_exact_one(session: Session) -> None:
    session.run.should_stop = True
    session.boundary_at(100)
    assert session.kinds() == {100: True}


def test_the_end_is_a_cut_unless_it_was_one(session: Session) -> None:
    session.run.step = 150
    session.run.finish(session.envs)
    session.run.finish(session.envs)
    assert session.kinds() == {150: True}


def test_what_was_logged_before_a_checkpoint_is_on_disk_with_it(session: Session) -> None:
    for step in range(1, 100):
        session.run.step = step
        session.run.log({"charts/episodic_return": step})
    session.boundary_at(100)
    assert len((session.directory / "metrics.jsonl").read_text().splitlines()) == 99


def test_a_full_disk_costs_the_checkpoint_and_not_the_training(
    session: Session, capsys: pytest.CaptureFixture[str]
) -> None:
    session.boundary_at(100)
    session.events()
    with no_room():
        assert session.boundary_at(200), "the cut is made all the same: the points depend on it"
    assert session.kinds() == {100: True}
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("warning: The checkpoint at step 200 cannot be written")
    assert line.endswith("The one before stands.")
    session.boundary_at(300)
    assert session.kinds() == {100: True, 300: True}
    assert [event["step"] for event in session.events()] == [300]


def test_a_checkpoint_that_somebody_damages_does_not_end_the_training(session: Session) -> None:
    for step in (100, 200):
        session.boundary_at(step)
    (session.directory / "checkpoints" / "step-100.ckpt" / "checkpoint.json").write_text("{")
    for step in (300, 400):
        session.boundary_at(step)
    assert (session.directory / "checkpoints" / "step-400.ckpt").is_dir()


def test_returns_that_are_no_numbers_do_not_keep_a_checkpoint_from_disk(session: Session) -> None:
    session.run._returns.values.append(float("nan"))
    session.boundary_at(100)
    (path,) = find_checkpoints(session.directory / "checkpoints")
    assert read_document(path)["mean_return"] == "nan"


def test_a_state_that_does_not_fit_is_named_before_the_run_begins(
    session: Session, envs: EnvBatch
) -> None:
    session.boundary_at(100)
    (path,) = find_checkpoints(session.directory / "checkpoints")
    begun: list[bool] = []

    def resume(**parts: Stateful) -> None:
        Run(
            total_timesteps=1000,
            seed=1,
            channel=Channel(None),
            checkpoints=Checkpoints(session.directory, INTERVAL, keep=2, last_step=100),
            resume_from=read_checkpoint(path),
            on_begin=lambda: begun.append(True),
        ).begin(envs, **parts)

    with pytest.raises(ConfigError, match=r"'step-100.ckpt' does not fit this run: agent: size"):
        resume(agent=torch.nn.Linear(64, 65))
    with pytest.raises(ConfigError, match=r"'step-100.ckpt' holds no 'optimizer'"):
        resume(agent=torch.nn.Linear(64, 64), optimizer=torch.nn.Linear(1, 1))
    assert not begun
    resume(agent=torch.nn.Linear(64, 64))
    assert begun


def test_an_interval_that_no_episode_survives_is_refused_with_the_numbers() -> None:
    assert resolve_interval(None, 100_000, 500, 4) == 10_000
    assert resolve_interval(None, 10_000, 500, 4) == 4_000
    assert resolve_interval(4_000, 10_000, 500, 4) == 4_000
    with pytest.raises(ConfigError) as refused:
        resolve_interval(3_999, 10_000, 500, 4)
    assert refused.value.one_line() == (
        "checkpoint_interval=3999 is too short: episodes last up to 500 steps in 4 environments. "
        "Use at least 4000."
    )
