"""The interactive protocol, spoken to a real worker: for people and for policies."""

from __future__ import annotations

import base64
import io
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image

from cleanrl_worker.interactive import Session, converse, open_session
from cleanrl_worker.interactive_request import InteractiveRequest, read_request
from mosaic import __version__
from mosaic.contracts.errors import ConfigError, MosaicError
from mosaic.contracts.settings import OperatorSettings
from tests.cleanrl_worker.conftest import start_worker
from tests.cleanrl_worker.trained import Trained, train

TINY = ("--total-timesteps=64", "--num-envs=2", "--num-steps=16")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    return train(tmp_path_factory.mktemp("play") / "ppo", "ppo", *TINY)


def talk(session: Session, *commands: dict[str, Any] | str) -> list[dict[str, Any]]:
    """Send the commands, and return what is answered after `init`."""
    lines = [text if isinstance(text, str) else json.dumps(text) for text in commands]
    said: list[str] = []
    converse(session, lines, said.append)
    session.close()
    return [json.loads(line) for line in said][1:]


def alone(env_id: str = "CartPole-v1", **options: Any) -> Session:
    return open_session(InteractiveRequest("r", env_id, **options))


def test_a_person_plays(tmp_path: Path) -> None:
    """Through the real process, on whose stdout is nothing but the protocol."""
    process = subprocess.Popen(
        [sys.executable, "-m", "cleanrl_worker.cli", "--interactive", "--env-id", "CartPole-v1"],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    answers: Iterator[Any] = map(json.loads, iter(process.stdout.readline, ""))

    def send(**command: Any) -> Any:
        assert process.stdin is not None
        print(json.dumps(command), file=process.stdin, flush=True)
        return next(answers)

    init = next(answers)
    assert (init["type"], init["env_id"], init["version"]) == ("init", "CartPole-v1", __version__)
    assert (init["algo"], init["policy_path"]) == (None, None)
    ready = send(cmd="reset", seed=7)
    assert (ready["type"], ready["seed"]) == ("ready", 7)
    assert ready["observation_shape"] == [4]
    assert ready["action_space"] == {"type": "Discrete", "n": 2}
    assert ready["action_labels"] == ["push left", "push right"]
    assert (ready["step_index"], ready["episode_index"], ready["episode_reward"]) == (0, 0, 0)
    picture = ready["render_payload"]
    image = Image.open(io.BytesIO(base64.b64decode(picture["data"])))
    assert (picture["mode"], image.format) == ("jpeg", "JPEG")
    assert image.size == (picture["width"], picture["height"])
    steps = 0
    while not (step := send(cmd="step", action=1))["terminated"]:
        steps += 1
        assert (step["type"], step["step_index"], step["action"]) == ("step", steps, 1)
    done = next(answers)
    assert done == {
        "type": "episode_done",
        "total_reward": steps + 1,
        "episode_length": steps + 1,
        "episode_number": 0,
    }
    assert send(cmd="ping") == {"type": "pong"}
    assert send(cmd="stop") == {"type": "stopped"}
    process.stdin.close()
    process.stdout.close()
    assert process.wait(20) == 0
    assert not list(tmp_path.iterdir()), "it leaves nothing"


def test_errors_do_not_end_the_protocol() -> None:
    said = talk(
        alone(is_drawn=False),
        {"cmd": "step", "action": 0},
        "nonsense",
        "[1]",
        {"cmd": "dance"},
        {"cmd": "reset", "seed": -1},
        {"cmd": "reset", "seed": 1},
        {"cmd": "step"},
        {"cmd": "step", "action": 2},
        {"cmd": "step", "action": [0]},
        {"cmd": "step", "action": True},
        {"cmd": "step", "action": 1},
        {"cmd": "ping"},
    )
    messages = [answer.get("message", "") for answer in said]
    assert [answer["type"] for answer in said] == [
        *["error"] * 5,
        "ready",
        *["error"] * 4,
        "step",
        "pong",
    ]
    assert messages[0].startswith("No episode has begun")
    assert messages[1].startswith("The line is not JSON")
    assert messages[3] == "cmd='dance' is unknown: give reset, step, ping or stop."
    assert messages[6] == "action is missing: no policy is loaded that could choose one."
    assert messages[7] == "action=2 is not allowed: give a whole number from 0 to 1."
    assert "render_payload" not in said[5]


def test_a_step_after_the_end_asks_for_a_reset() -> None:
    commands: list[dict[str, Any]] = [{"cmd": "reset", "seed": 3}]
    commands += [{"cmd": "step", "action": 1}] * 15
    said = talk(alone(is_drawn=False), *commands, {"cmd": "reset"}, {"cmd": "step", "action": 0})
    kinds = [answer["type"] for answer in said]
    end = kinds.index("episode_done")
    assert said[end - 1]["terminated"]
    assert "The episode has ended" in said[end + 1]["message"]
    assert (said[-1]["episode_index"], said[-1]["step_index"]) == (1, 1)


def test_box_actions() -> None:
    reset = {"cmd": "reset", "seed": 3}
    session = alone("Pendulum-v1", is_drawn=False)
    ready, bad, good = talk(
        session, reset, {"cmd": "step", "action": 1.0}, {"cmd": "step", "action": [1.5]}
    )
    assert ready["action_space"] == {"type": "Box", "shape": [1], "low": [-2.0], "high": [2.0]}
    assert ready["action_labels"] == []
    assert bad["message"] == "action=1.0 is not allowed: give numbers in the shape [1]."
    assert good["action"] == [1.5]


@pytest.mark.parametrize("kind", ["model", "checkpoint"])
def test_a_policy_acts_and_can_be_overruled(trained: Trained, kind: str) -> None:
    """The same seed and policy give the same episode, as an evaluation does."""
    request = InteractiveRequest("r", "CartPole-v1", "ppo", trained.policy(kind), is_drawn=False)
    commands = [{"cmd": "reset", "seed": 5}, *[{"cmd": "step"}] * 5]
    first, second = talk(open_session(request), *commands), talk(open_session(request), *commands)
    assert first == second
    assert {answer["type"] for answer in first} == {"ready", "step"}
    overruled = talk(
        open_session(request),
        commands[0],
        {"cmd": "step", "action": 1 - first[1]["action"]},
        {"cmd": "step"},
    )
    assert overruled[1]["action"] != first[1]["action"]
    assert overruled[2]["type"] == "step"


def test_what_a_policy_says_of_itself_need_not_be_given(trained: Trained) -> None:
    overrides = {"extras": {"policy_path": str(trained.model)}}
    request = read_request(None, overrides, OperatorSettings())
    assert (request.algo, request.env_id) == ("ppo", "CartPole-v1")
    config = {"env_id": "CartPole-v1", "seed": 4, "extras": {"mode": "interactive"}}
    request = read_request(config, {}, OperatorSettings())
    assert (request.algo, request.seed, request.policy_path) == (None, 4, None)


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ({}, "env_id is missing"),
        ({"env_id": "A:B-v0"}, "env_modules"),
        ({"env_id": "A", "extras": {"policy_path": "gone"}}, "'gone' does not exist"),
        ({"env_id": "A", "seed": -1}, "seed=-1"),
    ],
)
def test_requests_are_refused_by_name(config: dict[str, Any], says: str) -> None:
    with pytest.raises(MosaicError) as refused:
        read_request(config, {}, OperatorSettings())
    assert says in refused.value.one_line()


def test_a_bad_policy_is_refused_before_anything_is_played(
    trained: Trained, tmp_path: Path
) -> None:
    """By name, in one line, and in the protocol: whoever reads that sees it."""
    cut = tmp_path / "cut.cleanrl_model"
    cut.write_bytes(trained.model.read_bytes()[:500])
    cut.with_suffix(".json").write_bytes(trained.model.with_suffix(".json").read_bytes())
    done = start_worker(tmp_path, "--interactive", "--policy-path", str(cut))
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert f"'{cut}' is no saved policy" in line
    (answer,) = map(json.loads, done.stdout.splitlines())
    assert answer["type"] == "error"


def test_a_policy_of_another_kind_is_refused_by_name(trained: Trained, tmp_path: Path) -> None:
    """Of another algorithm, for other spaces, or more than tensors: nothing of it is run."""
    marker, hostile = tmp_path / "ran", tmp_path / "hostile.cleanrl_model"
    with hostile.open("wb") as file:
        torch.save({"weights": _Marking(marker)}, file)
    cases = [
        (trained.model, "dqn", "CartPole-v1", "is of 'ppo', not of 'dqn'"),
        (trained.model, "ppo", "Acrobot-v1", "does not fit the MLPAgent of this environment"),
        (hostile, "ppo", "CartPole-v1", "it holds more than tensors. Nothing in it was run."),
    ]
    for path, algo, env_id, says in cases:
        with pytest.raises(ConfigError) as refused:
            open_session(InteractiveRequest("r", env_id, algo, path, is_drawn=False))
        assert says in refused.value.one_line()
    assert not marker.exists()


class _Marking:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self._path,)


def test_a_dry_run_takes_one_step(trained: Trained, tmp_path: Path) -> None:
    config = {"env_id": "CartPole-v1", "algo": "ppo", "extras": {"mode": "interactive"}}
    flags = ("--dry-run", "--policy-path", str(trained.model))
    done = start_worker(tmp_path, *flags, config=config)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["env"]["action_space"] == "Discrete(2)"
    assert [path.name for path in tmp_path.iterdir()] == ["cfg.json"]
