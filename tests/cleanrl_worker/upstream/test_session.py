"""What a script's process tells of itself, and what its exceptions mean before the first step."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium import error

from cleanrl_worker.channel import Channel
from cleanrl_worker.upstream.refusals import refusal_of
from cleanrl_worker.upstream.session import Enough, Session


class Told:
    """A session, and the messages that it sent."""

    def __init__(self, folder: Path, *, is_dry_run: bool = False) -> None:
        self._reading, self._writing = os.pipe()
        self.session = Session(
            Channel(self._writing),
            run_dir=folder,
            tensorboard_dir=folder / "tensorboard",
            is_dry_run=is_dry_run,
        )

    def messages(self) -> list[dict[str, Any]]:
        os.close(self._writing)
        with os.fdopen(self._reading) as pipe:
            return [json.loads(line) for line in pipe]


@pytest.fixture
def told(tmp_path: Path) -> Told:
    return Told(tmp_path)


def test_scalars_of_any_kind_become_metrics(told: Told, tmp_path: Path) -> None:
    told.session.stepped(4)
    for value in (1, 2.0, np.float32(3), np.array([4.0])):
        told.session.metric("charts/episodic_return", value, 8)
    told.session.end()
    sent = told.messages()
    assert [each["kind"] for each in sent] == ["prepared", *["metric"] * 4, "finished"]
    values = [each["values"]["charts/episodic_return"] for each in sent[1:-1]]
    assert values == [1, 2, 3, 4]
    assert (sent[-1]["status"], sent[-1]["steps"]) == ("completed", 4)
    assert len((tmp_path / "metrics.jsonl").read_text().splitlines()) == 4


def test_a_script_that_never_steps_is_no_success(told: Told) -> None:
    told.session.end()
    [message] = told.messages()
    assert message["kind"] == "rejected"
    assert "without a single step" in message["message"]


def test_a_failure_after_the_first_step_is_the_scripts_own(told: Told) -> None:
    told.session.stepped(1)
    told.session.failed(AssertionError("later"))
    told.session.end()
    assert [each["kind"] for each in told.messages()] == ["prepared"]


def test_a_stopped_script_says_so(told: Told) -> None:
    told.session.stepped(1)
    told.session.was_stopped = True
    told.session.end()
    assert told.messages()[-1]["status"] == "stopped"


def test_a_dry_run_ends_with_the_first_step(tmp_path: Path) -> None:
    told = Told(tmp_path, is_dry_run=True)
    with pytest.raises(Enough):
        told.session.stepped(1)
    told.session.end()
    [message] = told.messages()
    assert message["kind"] == "summary"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("raised", "code", "text"),
    [
        (ModuleNotFoundError("No module", name="jax"), "dependency", "needs the module 'jax'"),
        (error.NameNotFound("Environment x"), "config", "cannot be made in this bundle"),
        (error.DependencyNotInstalled("mujoco"), "dependency", "cannot be made in this bundle"),
        (AssertionError("only discrete"), "config", "refuses the environment: only discrete."),
    ],
)
def test_what_a_script_raises_before_its_first_step_is_a_refusal(
    told: Told, raised: Exception, code: str, text: str
) -> None:
    told.session.failed(raised)
    told.session.end()
    [message] = told.messages()
    assert (message["kind"], message["code"]) == ("rejected", code)
    assert text in message["message"]


def test_any_other_exception_is_left_to_its_traceback() -> None:
    assert refusal_of(ValueError("x")) is None
    assert refusal_of(AssertionError()) is None
