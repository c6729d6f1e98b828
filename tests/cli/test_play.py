"""`mosaic play`: in a real terminal with a person, and unseen with a policy."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mosaic.cli.keyboard import split_keys
from mosaic.cli.main import main
from mosaic.client.playing import PlayFault, PlayProcess
from mosaic.contracts.action_keys import key_actions
from mosaic.contracts.errors import ConfigError
from mosaic.contracts.play_request import PlayRequest
from tests.cleanrl_worker.trained import train

MODULE = "cleanrl_worker.cli"
TINY = ("--total-timesteps=64", "--num-envs=2", "--num-steps=16")


class Terminal:
    """A command that believes to be in a terminal."""

    def __init__(self, *words: str) -> None:
        self._descriptor, slave = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "mosaic.cli", *words],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env={**os.environ, "COLUMNS": "120", "LINES": "40"},
        )
        os.close(slave)
        self.text = ""

    def press(self, keys: str) -> None:
        os.write(self._descriptor, keys.encode())

    def wait_for(self, pattern: str, timeout_s: float = 60.0) -> None:
        deadline = time.monotonic() + timeout_s
        while not re.search(pattern, self.text):
            assert time.monotonic() < deadline, f"no {pattern!r} in {self.text[-2000:]!r}"
            if select.select([self._descriptor], [], [], 0.2)[0]:
                self.text += os.read(self._descriptor, 1 << 16).decode(errors="replace")
        self.text = re.split(pattern, self.text)[-1]

    def leave(self) -> int:
        self.press("q")
        code = self.process.wait(20)
        os.close(self._descriptor)
        return code


def test_a_person_plays_with_the_keyboard(var_dir: Path) -> None:
    terminal = Terminal("play", "--env-id", "CartPole-v1", "--seed", "5", "--protocol", "blocks")
    terminal.wait_for("CartPole-v1 | episode 0 step 0 return 0".replace("|", r"\|"))
    terminal.wait_for("left push left  right push right")
    terminal.press("1")
    terminal.wait_for("episode 0 step 1 return 1")
    terminal.press("\x1b[D")
    terminal.wait_for("episode 0 step 2 return 2")
    terminal.press("r")
    terminal.wait_for("episode 1 step 0 return 0")
    assert terminal.leave() == 0


def test_a_policy_plays_unseen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trained = train(tmp_path / "ppo", "ppo", *TINY)
    words = ["play", str(trained.model), "--json", "--episodes", "2", "--seed", "3"]
    assert main(words) == 0
    played = json.loads(capsys.readouterr().out)
    assert (played["algo"], played["env_id"]) == ("ppo", "CartPole-v1")
    assert [episode["seed"] for episode in played["episodes"]] == [3, 4]
    assert all(each["return"] == each["length"] > 0 for each in played["episodes"])


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "name a run, a policy, or an environment"),
        (["--env-id", "CartPole-v1"], "this is no terminal"),
        (["no/gone.cleanrl_model", "--json"], "does not exist"),
        (["--env-id", "CartPole-v1", "--jsom"], "has no flag --jsom. Did you mean '--json'?"),
    ],
)
def test_mistakes_are_one_line(
    words: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["play", *words]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert says in line


def test_keys() -> None:
    assert list(split_keys("1\x1b[A\x1bOD q")) == ["1", "up", "left", " ", "q"]
    minigrid = ["left", "right", "forward", "pickup", "drop", "toggle", "done"]
    keys = key_actions(minigrid)
    assert (keys["left"], keys["right"], keys["up"], keys["down"]) == (0, 1, 2, 5)
    assert keys["6"] == 6
    assert key_actions([]) == {}


class TestPlayProcess:
    def test_commands_that_are_wrong_leave_it_running(self) -> None:
        request = PlayRequest("CartPole-v1", is_drawn=False)
        with PlayProcess(MODULE, request.flags()) as process:
            assert process.start()["env_id"] == "CartPole-v1"
            with pytest.raises(ConfigError, match="No episode has begun"):
                process.step(0)
            assert process.reset(3)["seed"] == 3
            with pytest.raises(ConfigError, match="action=7 is not allowed"):
                process.step(7)
            assert process.step(1)[0]["reward"] == 1.0
            process._process.kill()
            with pytest.raises(PlayFault, match="has ended: exit code -9"):
                process.step(1)

    def test_what_cannot_be_played_is_told_in_the_workers_words(self) -> None:
        process = PlayProcess(MODULE, PlayRequest("Nope-v0").flags())
        with pytest.raises(PlayFault, match="env_id='Nope-v0' is not a registered environment"):
            process.start()
