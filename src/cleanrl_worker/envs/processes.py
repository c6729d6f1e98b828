"""Environments in processes of their own, several to each, over shared memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict
from itertools import pairwise
from typing import Any

from cleanrl_worker.envs import process_main
from cleanrl_worker.envs.observations import Array, ObservationEncoder
from cleanrl_worker.envs.process_main import COMMAND, DONE, REBUILD, RESET, STEP
from cleanrl_worker.envs.registry import ResolvedEnv, make
from cleanrl_worker.envs.shared import SharedArrays, open_memory
from cleanrl_worker.envs.sync import episode_limit
from cleanrl_worker.envs.vector import Episode, Step
from cleanrl_worker.showing import View
from mosaic.workers.processes import PARENT_PID_VARIABLE, describe_exit

CLOSE_TIMEOUT_S = 5.0


class EnvProcess:
    """One environment process: its command pipe, its answer pipe, its end."""

    def __init__(self, share: Mapping[str, object], memory: int) -> None:
        self._answers, answers = os.pipe()
        arguments = json.dumps({**share, "memory": memory, "answers": answers})
        self._process = subprocess.Popen(
            [sys.executable, "-m", process_main.__name__, arguments],
            stdin=subprocess.PIPE,
            pass_fds=(memory, answers),
            env={**os.environ, PARENT_PID_VARIABLE: str(os.getpid())},
        )
        os.close(answers)
        assert self._process.stdin is not None
        self._commands = self._process.stdin

    def send(self, kind: bytes, seed: int = 0) -> None:
        try:
            os.write(self._commands.fileno(), COMMAND.pack(kind, seed))
        except BrokenPipeError:
            self.wait()

    def wait(self) -> None:
        """Wait until the last command is done."""
        if os.read(self._answers, 1) != DONE:
            ending = describe_exit(self._process.wait())
            raise RuntimeError(
                f"Environment process {self._process.pid} {ending}; its traceback is above."
            )

    def close(self) -> None:
        """End the process; one that does not listen is killed."""
        self._commands.close()
        os.close(self._answers)
        try:
            self._process.wait(CLOSE_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class ProcessEnvs:
    """A batch split over processes; each steps its share as SyncEnvs does, with the same result."""

    def __init__(
        self,
        env: ResolvedEnv,
        num_envs: int,
        processes: int | None = None,
        view: View | None = None,
    ) -> None:
        self.num_envs = num_envs
        twin = make(env)
        self.observation_space = ObservationEncoder(twin.observation_space, env.id).space
        self.action_space = twin.action_space
        self.max_episode_steps = episode_limit(twin)
        twin.close()
        memory = open_memory()
        self._arrays = SharedArrays(memory, num_envs, self.observation_space, self.action_space)
        shares = _shares(num_envs, processes or available_cpus())
        self._processes = [
            EnvProcess(
                {
                    "env_id": env.id,
                    "sight": asdict(env.sight),
                    "num_envs": num_envs,
                    "first": share.start,
                    "count": len(share),
                    "view": _view_of(view, share),
                },
                memory,
            )
            for share in shares
        ]
        os.close(memory)
        self._wait()

    def reset(self, seed: int) -> Array:
        self._run(RESET, seed)
        return self._arrays.obs.copy()

    def step(self, actions: Array) -> Step:
        arrays = self._arrays
        arrays.actions[...] = actions.reshape(arrays.actions.shape)
        self._run(STEP)
        rewards, terminated, truncated = (
            arrays.rewards.copy(),
            arrays.terminated.copy(),
            arrays.truncated.copy(),
        )
        obs = arrays.obs.copy()
        ended = (terminated | truncated).nonzero()[0].tolist()
        if not ended:
            return Step(obs, rewards, terminated, truncated, obs, ())
        episodes = [
            Episode(index, float(arrays.totals[index]), int(arrays.lengths[index]))
            for index in ended
            if arrays.lengths[index]
        ]
        return Step(obs, rewards, terminated, truncated, arrays.next_obs.copy(), episodes)

    def rebuild(self) -> None:
        self._run(REBUILD)

    def close(self) -> None:
        for process in self._processes:
            process.close()
        self._processes = []

    def _run(self, kind: bytes, seed: int = 0) -> None:
        for process in self._processes:
            process.send(kind, seed)
        self._wait()

    def _wait(self) -> None:
        for process in self._processes:
            process.wait()


def _view_of(view: View | None, share: range) -> dict[str, Any] | None:
    """Return what a process shows of its own environments; None: nothing."""
    part = None if view is None else view.share(share.start, len(share))
    return part.to_json() if part is not None and part.shown else None


def available_cpus() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _shares(num_envs: int, processes: int) -> list[range]:
    """Split the environments as evenly as can be, in order."""
    count = min(processes, num_envs)
    bounds = [num_envs * index // count for index in range(count + 1)]
    return [range(start, stop) for start, stop in pairwise(bounds)]
