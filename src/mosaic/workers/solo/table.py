"""The game on the table: one environment, stepped by whoever holds the other end of the line."""

from __future__ import annotations

import base64
import random
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

from mosaic import __version__
from mosaic.fastlane.jpeg import encode


class Listener(Protocol):
    """Who is told what happens."""

    def began(self, episode: int, seed: int, observation: Any) -> None:
        """An episode has begun."""

    def stepped(self, episode: int, step: int, seed: int, fields: Mapping[str, Any]) -> None:
        """A step was taken; `fields` has the raw observation under `raw`."""

    def ended(self, episode: int, seed: int, fields: Mapping[str, Any]) -> None:
        """An episode has ended, or was given up."""


class Policy(Protocol):
    """Who acts where the other end leaves it open."""

    def begin(self, observation: Any) -> None:
        """An episode begins."""

    def act(self) -> int | None:
        """Return an action; None where there is none to be had."""

    def see(self, action: int, observation: Any, reward: float) -> None:
        """Take in what an action did."""


@dataclass(frozen=True, slots=True)
class Rules:
    """How a person plays; `rest` is what happens in real time while no key is held."""

    actions: tuple[str, ...]
    keys: dict[str, int] = field(default_factory=dict)
    fps: float = 4.0
    rest: int | None = None


@dataclass(frozen=True, slots=True)
class Title:
    """What a greeting says."""

    env_id: str
    algo: str
    run_id: str = ""
    policy_path: str | None = None


class Table:
    """Answers the commands of the interactive protocol, one message each or two."""

    def __init__(
        self, env: Any, rules: Rules, title: Title, seed: int, policy: Policy | None = None
    ) -> None:
        self.env = env
        self.game = rules
        self.title = title
        self.listener: Listener | None = None
        self.is_stopped = False
        self._policy = policy
        self._seeds = random.Random(seed)
        self._episode = -1
        self._step = 0
        self._seed = 0
        self._total = 0.0
        self._is_open = False

    def greeting(self) -> dict[str, Any]:
        return {
            "type": "init",
            **asdict(self.title),
            "version": __version__,
        }

    def answer(self, message: Any) -> list[dict[str, Any]]:
        """Carry a command out; whatever is wrong with it is an answer, too."""
        command = message.get("cmd") if isinstance(message, Mapping) else None
        if command == "reset":
            return self._reset(message.get("seed"))
        if command == "step":
            return self._take_step(message.get("action"))
        if command == "ping":
            return [{"type": "pong"}]
        if command == "stop":
            self.is_stopped = True
            self.give_up()
            return [{"type": "stopped"}]
        return [_error(f"cmd={command!r} is unknown: give reset, step, ping or stop.")]

    def _reset(self, seed: Any) -> list[dict[str, Any]]:
        if seed is not None and (type(seed) is not int or not 0 <= seed < 2**32):
            return [_error(f"seed={seed!r} is not allowed: give a number from 0 to 4294967295.")]
        self.give_up()
        self._seed = self._seeds.randrange(2**32) if seed is None else seed
        observation, _ = self.env.reset(seed=self._seed)
        self._episode += 1
        self._step, self._total, self._is_open = 0, 0.0, True
        if self.listener is not None:
            self.listener.began(self._episode, self._seed, observation)
        if self._policy is not None:
            self._policy.begin(observation)
        shape = getattr(observation, "shape", ())
        return [
            {
                "type": "ready",
                "seed": self._seed,
                "observation": as_json(observation),
                "observation_shape": list(shape),
                "action_space": str(self.env.action_space),
                "action_labels": list(self.game.actions),
                "keys": self.game.keys,
                "fps": self.game.fps,
                "rest": self.game.rest,
                "step_index": 0,
                "episode_index": self._episode,
                "episode_reward": 0.0,
                "render_payload": self._picture(),
            }
        ]

    def _take_step(self, action: Any) -> list[dict[str, Any]]:
        if not self._is_open:
            return [_error("No episode is under way: send reset first.")]
        actions = self.game.actions
        if action is None and self._policy is not None:
            action = self._policy.act()
            if action is None:
                return self._surrender()
        if type(action) is not int or not 0 <= action < len(actions):
            return [_error(f"action={action!r} is not allowed: give 0 to {len(actions) - 1}.")]
        observation, reward, terminated, truncated, _ = self.env.step(action)
        self._total += float(reward)
        if self._policy is not None:
            self._policy.see(action, observation, float(reward))
        fields = {
            "action": action,
            "observation": as_json(observation),
            "reward": float(reward),
            "terminated": bool(terminated),
            "truncated": bool(truncated),
            "render_payload": self._picture(),
        }
        if self.listener is not None:
            told = {**fields, "raw": observation}
            self.listener.stepped(self._episode, self._step, self._seed, told)
        self._step += 1
        answers = [
            {
                "type": "step",
                "step_index": self._step,
                "episode_index": self._episode,
                "episode_reward": self._total,
                **fields,
            }
        ]
        if terminated or truncated:
            self._end(terminated=bool(terminated))
            answers.append(self._done())
        return answers

    def _done(self) -> dict[str, Any]:
        return {
            "type": "episode_done",
            "total_reward": self._total,
            "episode_length": self._step,
            "episode_number": self._episode + 1,
        }

    def _surrender(self) -> list[dict[str, Any]]:
        """End the episode of a policy that has no action to give."""
        self._end(terminated=False)
        step = {
            "type": "step",
            "step_index": self._step,
            "episode_index": self._episode,
            "episode_reward": self._total,
            "action": None,
            "observation": None,
            "reward": 0.0,
            "terminated": False,
            "truncated": True,
        }
        return [step, self._done()]

    def give_up(self) -> None:
        """End an episode that is under way, as cut off."""
        if self._is_open and self._step:
            self._end(terminated=False)
        self._is_open = False

    def _end(self, *, terminated: bool) -> None:
        self._is_open = False
        fields = {
            "total_reward": self._total,
            "steps": self._step,
            "terminated": terminated,
            "truncated": not terminated,
        }
        if self.listener is not None:
            self.listener.ended(self._episode, self._seed, fields)

    def _picture(self) -> dict[str, Any] | None:
        pixels = self.env.render()
        if pixels is None:
            return None
        data = base64.b64encode(encode(pixels, "JPEG", quality=80)).decode()
        return {"mode": "jpeg", "data": data, "width": pixels.shape[1], "height": pixels.shape[0]}

    def close(self) -> None:
        self.env.close()


def as_json(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): as_json(item) for name, item in value.items()}
    if isinstance(value, tuple | list):
        return [as_json(item) for item in value]
    return value.tolist() if hasattr(value, "tolist") else value


def _error(message: str) -> dict[str, Any]:
    return {"type": "error", "message": message}
