"""Stepping an environment over stdin and stdout: one JSON object a line, either way.

| command | answer |
|---|---|
| | `init`, once, when the environment and the policy stand |
| `{"cmd": "reset", "seed": n?}` | `ready` |
| `{"cmd": "step", "action": a?}` | `step`, and at the end of an episode `episode_done` |
| `{"cmd": "ping"}` | `pong` |
| `{"cmd": "stop"}` | `stopped`, and the process ends |

Whatever is wrong with a command is answered with `error`, and the protocol goes on. Without an
action the policy acts; without a policy an action is required.
"""

from __future__ import annotations

import base64
import json
import secrets
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import gymnasium as gym
import numpy as np

from cleanrl_worker.envs.observations import Array
from cleanrl_worker.evaluation_env import Stage
from cleanrl_worker.interactive_actions import describe_space, read_action
from cleanrl_worker.interactive_request import InteractiveRequest
from cleanrl_worker.policies import Policy, begin_episode, remembers
from mosaic import __version__
from mosaic.contracts.errors import ConfigError, MosaicError
from mosaic.contracts.events import finite
from mosaic.fastlane.jpeg import encode
from mosaic.workers.emitter import EventEmitter

Message = dict[str, Any]

_DRAWN_SEEDS = 2**31


class Session:
    """One environment that is stepped on demand."""

    def __init__(self, request: InteractiveRequest, stage: Stage, policy: Policy | None) -> None:
        self._request = request
        self._stage = stage
        self._policy = policy
        self._rng: np.random.Generator | None = None
        self._obs: Array | None = None
        self._episode = -1
        self._step = 0
        self._total = 0.0
        self._has_ended = True

    def init(self) -> Message:
        return {"type": "init", **self._request.to_json(), "version": __version__}

    def reset(self, command: Mapping[str, Any]) -> Iterator[Message]:
        seed = self._seed(command.get("seed"))
        self._episode += 1
        self._step, self._total, self._has_ended = 0, 0.0, False
        self._rng = None if self._request.deterministic else np.random.default_rng(seed)
        self._obs = self._stage.begin(self._episode, seed)
        if self._policy is not None:
            begin_episode(self._policy)
        yield {
            "type": "ready",
            "seed": seed,
            "observation": self._observation(),
            "observation_shape": list(self._stage.single.observation.shape[1:]),
            "action_space": describe_space(self.action_space),
            "action_labels": self._stage.single.labels(),
            **self._place(),
        }

    def step(self, command: Mapping[str, Any]) -> Iterator[Message]:
        if self._obs is None or self._has_ended:
            what = "No episode has begun" if self._obs is None else "The episode has ended"
            raise ConfigError(f'{what}: send {{"cmd": "reset"}} first.')
        actions = self._actions(command.get("action"))
        outcome = self._stage.step(actions)
        self._obs = outcome.obs
        self._step += 1
        self._total += outcome.reward
        self._has_ended = outcome.terminated or outcome.truncated
        yield {
            "type": "step",
            "observation": self._observation(),
            "action": actions[0].tolist(),
            "reward": outcome.reward,
            "terminated": outcome.terminated,
            "truncated": outcome.truncated,
            **self._place(),
        }
        if self._has_ended:
            yield {
                "type": "episode_done",
                "total_reward": self._total,
                "episode_length": self._step,
                "episode_number": self._episode,
            }

    @property
    def action_space(self) -> gym.Space[Any]:
        return self._stage.envs.action_space

    def describe(self) -> Message:
        return {
            "id": self._request.env_id,
            "observation_space": str(self._stage.single.observation_space),
            "action_space": str(self.action_space),
        }

    def close(self) -> None:
        self._stage.close()

    def _seed(self, given: Any) -> int:
        if given is None and self._episode < 0 and self._request.seed is not None:
            return self._request.seed
        if given is None:
            return secrets.randbelow(_DRAWN_SEEDS)
        if type(given) is not int or not 0 <= given < 2**32:
            raise ConfigError(f"seed={given!r} is not allowed: give a whole number from 0.")
        return given

    def _actions(self, given: Any) -> Array:
        """Return a batch of one action: the one given, or else the policy's."""
        assert self._obs is not None
        if given is not None:
            action = read_action(self.action_space, given)
            if self._policy is not None and remembers(self._policy):
                self._policy(self._obs, self._rng)  # what it does not see it will not remember
            return action
        if self._policy is None:
            raise ConfigError("action is missing: no policy is loaded that could choose one.")
        return self._policy(self._obs, self._rng)

    def _observation(self) -> Any:
        return finite(self._stage.single.observation[0].tolist())

    def _place(self) -> Message:
        """Return where the episode stands, and what it looks like."""
        place: Message = {
            "step_index": self._step,
            "episode_index": self._episode,
            "episode_reward": self._total,
        }
        if self._request.is_drawn:
            pixels = self._stage.picture(self._request.max_dim)
            if pixels is not None:
                place["render_payload"] = {
                    "mode": "jpeg",
                    "data": base64.b64encode(encode(pixels, "JPEG", quality=85)).decode(),
                    "width": pixels.shape[1],
                    "height": pixels.shape[0],
                }
        return place


def open_session(request: InteractiveRequest) -> Session:
    """Build the environment and load the policy; whatever is wrong is a MosaicError."""
    from cleanrl_worker.interactive_stage import build_stage

    stage, policy = build_stage(request)
    return Session(request, stage, policy)


def converse(session: Session, lines: Iterable[str], say: Callable[[str], None]) -> None:
    """Answer commands until one is `stop`, or there are no more."""
    handlers = {"reset": session.reset, "step": session.step}
    say(json.dumps(session.init()))
    for line in lines:
        if not line.strip():
            continue
        try:
            command = _parse(line)
            name = command["cmd"]
            if name in handlers:
                for message in handlers[name](command):
                    say(json.dumps(message))
            elif name == "ping":
                say('{"type": "pong"}')
            elif name == "stop":
                say('{"type": "stopped"}')
                return
            else:
                raise ConfigError(f"cmd={name!r} is unknown: give reset, step, ping or stop.")
        except MosaicError as error:
            say(error_line(error))
        except Exception as error:  # noqa: BLE001 - an environment may fail in any way
            say(error_line(ConfigError(f"{type(error).__name__}: {error}")))


def play(session: Session, emitter: EventEmitter) -> None:
    """Converse over stdin and stdout until somebody stops or hangs up."""
    try:
        converse(session, iter(sys.stdin.readline, ""), emitter.write_line)
    finally:
        session.close()


def summarise(request: InteractiveRequest, session: Session) -> Message:
    """Take one step, by the policy or with some action, and return the dry run's findings."""
    space = session.action_space
    next(session.reset({"seed": request.seed or 0}))
    action = None if request.policy_path is not None else _some_action(space)
    next(session.step({"action": action}))
    found = {"config": request.to_json(), "algo": request.algo, "env": session.describe()}
    session.close()
    return found


def _some_action(space: gym.Space[Any]) -> Any:
    space.seed(0)
    action = np.asarray(space.sample())
    is_counted = isinstance(space, gym.spaces.Discrete)
    return int(action) - int(space.start) if is_counted else action.tolist()  # type: ignore[attr-defined]


def error_line(error: MosaicError) -> str:
    return json.dumps({"type": "error", "message": error.one_line()})


def _parse(line: str) -> dict[str, Any]:
    try:
        command = json.loads(line)
    except ValueError as error:
        raise ConfigError(f"The line is not JSON: {error}.") from None
    if not isinstance(command, dict) or not isinstance(command.get("cmd"), str):
        raise ConfigError('The line is no command: give an object such as {"cmd": "step"}.')
    return command
