"""An environment process: steps its share of a batch whenever it is told to.

Commands come through standard input. When that ends, so does the process: it cannot outlive the
one that started it.
"""

from __future__ import annotations

import json
import os
import random
import signal
import struct
import sys

import numpy as np

from cleanrl_worker.envs.registry import resolve
from cleanrl_worker.envs.shared import SharedArrays
from cleanrl_worker.envs.sight import Sight
from cleanrl_worker.envs.sync import SyncEnvs
from cleanrl_worker.envs.vector import EnvBatch, Step
from cleanrl_worker.envs.watched import make_shown, watched
from cleanrl_worker.showing import View
from mosaic.workers.processes import die_with_parent

COMMAND = struct.Struct("=cq")  # what to do, and the seed of a reset
RESET, STEP, REBUILD = b"r", b"s", b"b"
DONE = b"."


def main(arguments: str) -> None:
    die_with_parent()
    # Whoever stops the run stops its algorithm, which then ends this process by closing the pipe.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    share = json.loads(arguments)
    env_id, first, count = share["env_id"], share["first"], share["count"]
    modules = (env_id.rpartition(":")[0],)
    env = resolve(env_id, allowed_modules=modules, sight=Sight(**share["sight"]))
    view = None if share["view"] is None else View.from_json(share["view"])
    single = SyncEnvs(lambda index: make_shown(env, index, view), count, env_id=env_id)
    envs: EnvBatch = single if view is None else watched(single, view)
    arrays = SharedArrays(
        share["memory"], share["num_envs"], envs.observation_space, envs.action_space
    )
    rows = slice(first, first + count)
    os.write(share["answers"], DONE)
    while command := os.read(sys.stdin.fileno(), COMMAND.size):
        kind, seed = COMMAND.unpack(command)
        if kind == STEP:
            _write(arrays, rows, envs.step(arrays.actions[rows]))
        elif kind == RESET:
            _seed_globals(seed + first)
            arrays.obs[rows] = envs.reset(seed + first)
        else:
            envs.rebuild()
        os.write(share["answers"], DONE)
    envs.close()


def _seed_globals(seed: int) -> None:
    """Fix the generators of the process itself, from which some environments draw."""
    random.seed(seed)
    np.random.seed(seed % 2**32)


def _write(arrays: SharedArrays, rows: slice, step: Step) -> None:
    arrays.obs[rows] = step.obs
    arrays.rewards[rows] = step.rewards
    arrays.terminated[rows] = step.terminated
    arrays.truncated[rows] = step.truncated
    arrays.next_obs[rows] = step.next_obs
    arrays.lengths[rows] = 0  # no episode was finished
    for episode in step.episodes:
        arrays.totals[rows.start + episode.env] = episode.total_reward
        arrays.lengths[rows.start + episode.env] = episode.length


if __name__ == "__main__":
    main(sys.argv[1])
