"""Actors that play against each other: each in a process of its own, over the same protocol."""

from __future__ import annotations

import json
import random
import statistics
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any

from mosaic.cli.steady import SteadyClient
from mosaic.contracts.errors import ConfigError, NotFound
from mosaic.contracts.paths import VarPaths
from mosaic.contracts.saved_states import describe_policy, find_policy, find_states
from mosaic.contracts.worker_config import extract_worker_config
from mosaic.workers.discovery import load_catalogue

_ENVIRONMENTS = "human_worker.cli"  # plays nothing by itself: it steps any environment


class Contender:
    """One actor. `recorded` holds, by seed, what a person did."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        *,
        chance: random.Random | None = None,
        recorded: dict[int, list[int]] | None = None,
    ) -> None:
        self.name = name
        self.is_over = True
        self.returns: list[float] = []
        self.lengths: list[int] = []
        self._chance = chance
        self.recorded = recorded
        self._script: list[int] = []
        self._actions = 0
        self._total = 0.0
        self._steps = 0
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            self._read()
        except ConfigError:
            self.close()
            raise

    def begin(self, seed: int) -> None:
        ready = self._ask({"cmd": "reset", "seed": seed})
        self._actions = len(ready["action_labels"])
        self._script = list((self.recorded or {}).get(seed, ()))
        self._total, self._steps, self.is_over = 0.0, 0, False
        self.returns.append(0.0)
        self.lengths.append(0)

    def step(self) -> None:
        """Take one step; who has none left is done."""
        if self.recorded is not None and not self._script:
            self.is_over = True
            return
        answer = self._ask(self._command())
        self._steps += answer["action"] is not None
        self.returns[-1], self.lengths[-1] = float(answer["episode_reward"]), self._steps
        if answer["terminated"] or answer["truncated"]:
            self._read()  # episode_done
            self.is_over = True

    def _command(self) -> dict[str, Any]:
        if self.recorded is not None:
            return {"cmd": "step", "action": self._script.pop(0)}
        if self._chance is not None:
            return {"cmd": "step", "action": self._chance.randrange(self._actions)}
        return {"cmd": "step"}

    def result(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "returns": self.returns,
            "lengths": self.lengths,
            "mean_return": statistics.fmean(self.returns),
            "median_return": statistics.median(self.returns),
            "min_return": min(self.returns),
            "max_return": max(self.returns),
            "mean_length": statistics.fmean(self.lengths),
        }

    def _ask(self, command: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(command) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # what it said before it went is read below
        answer = self._read()
        if answer["type"] == "error":
            raise ConfigError(f"{self.name}: {answer['message']}")
        return answer

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        line = self._process.stdout.readline()
        if not line:
            said = self._process.stderr.read().strip().splitlines()
            raise ConfigError(f"{self.name} cannot play: {said[-1] if said else 'it ended'}")
        return dict(json.loads(line))

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


class Seats:
    """The contenders of one comparison, for as long as it lasts."""

    def __init__(self, paths: VarPaths, names: Sequence[str], env_id: str | None) -> None:
        self.env_id = env_id or ""
        self.contenders: list[Contender] = []
        self._names = names
        self._paths = paths
        self._stack = ExitStack()
        self._catalogue = load_catalogue()

    def __enter__(self) -> Seats:
        try:
            described = [self._describe(name) for name in self._names]
            self.env_id = self.env_id or next(
                (each["env_id"] for each in described if each.get("env_id")), ""
            )
            if not self.env_id:
                raise ConfigError("versus: --env-id is missing: no contender names one.")
            for each in described:
                self.contenders.append(self._seat(each))
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._close()

    def _close(self) -> None:
        for contender in self.contenders:
            contender.close()
        self._stack.close()

    def seeds(self, first: int, count: int) -> list[int]:
        """Return the seeds of the episodes; a person's are those that were played."""
        for contender in self.contenders:
            if contender.recorded is not None:
                return list(contender.recorded)[:count]
        return [(first + number) % 2**32 for number in range(count)]

    def _describe(self, name: str) -> dict[str, Any]:
        """Return what plays under this name."""
        if name == "random":
            return {"name": name, "kind": "random"}
        if name.startswith("llm:"):
            model, _, url = name[4:].partition("@")
            if not model or not url:
                raise ConfigError(f"{name!r} is no contender: give llm:MODEL@BASE_URL.")
            return {"name": name, "kind": "llm", "extras": {"model": model, "base_url": url}}
        path = Path(name).expanduser()
        if path.exists():
            known = describe_policy(path)
            return self._policy(name, path, known.algo, known.env_id)
        return self._run(name)

    def _run(self, name: str) -> dict[str, Any]:
        steady = self._stack.enter_context(SteadyClient(self._paths))
        details = steady.client.get_run(name)
        config = extract_worker_config(json.loads(details.config_json))
        if details.run.worker == "human_worker":
            feed = steady.client.steps(details.run.run_id)
            steps = [json.loads(line) for update in feed for line in update.lines]
            recorded: dict[int, list[int]] = {}
            for step in steps:
                recorded.setdefault(int(step["episode_seed"]), []).append(int(step["action"]))
            return {
                "name": f"a person ({name})",
                "kind": "person",
                "env_id": config["env_id"],
                "recorded": recorded,
            }
        run_dir = Path(details.run_dir)
        states = find_states(run_dir)
        policy = find_policy(run_dir) or (states[-1].path if states else None)
        if policy is None:
            raise NotFound(f"Run {name} has neither a saved policy nor a checkpoint.")
        return self._policy(name, policy, config["algo"], config["env_id"])

    def _policy(
        self, name: str, path: Path, algo: str | None, env_id: str | None
    ) -> dict[str, Any]:
        if algo is None:
            raise ConfigError(f"{name!r}: nothing beside the policy names its algorithm.")
        module = self._catalogue.find(algo).worker.module
        flags = ("--algo", algo, "--policy-path", str(path.absolute()))
        return {
            "name": f"{algo} ({name})",
            "kind": "policy",
            "env_id": env_id,
            "command": (module, *flags),
        }

    def _seat(self, what: dict[str, Any]) -> Contender:
        flags = ("--interactive", "--env-id", self.env_id)
        if what["kind"] == "policy":
            module, *more = what["command"]
            return Contender(what["name"], (module, *flags, *more))
        if what["kind"] == "llm":
            extras = json.dumps({"frames": False, **what["extras"]})
            return Contender(what["name"], ("llm_worker.cli", *flags, "--extras", extras))
        chance = random.Random(0) if what["kind"] == "random" else None
        recorded = what.get("recorded")
        return Contender(what["name"], (_ENVIRONMENTS, *flags), chance=chance, recorded=recorded)
