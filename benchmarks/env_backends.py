"""Environment steps a second of every backend: `python benchmarks/env_backends.py`.

All backends of a row are built first and take turns, so that a busy moment of the machine hits
them alike; the best of the rounds is shown, in thousand steps a second, with random actions and
the resets that they lead to. `--cpus` bounds processes and threads.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces

from cleanrl_worker.envs.backends import BACKENDS
from cleanrl_worker.envs.build import build_envs
from cleanrl_worker.envs.processes import available_cpus
from cleanrl_worker.envs.registry import resolve
from cleanrl_worker.envs.vector import EnvBatch
from mosaic.contracts.errors import MosaicError

ENV_IDS = (
    "CartPole-v1",
    "LunarLander-v3",
    "HalfCheetah-v5",
    "BipedalWalker-v3",
    "MiniGrid-DoorKey-5x5-v0",
)
NUM_ENVS = (1, 4, 8, 16, 64)


def main() -> None:
    options = _parse()
    print(f"{options.cpus} processors; thousand steps a second, the fastest starred")
    print("| environment | envs | " + " | ".join(BACKENDS) + " |")
    print("|---|---" + "|---" * len(BACKENDS) + "|")
    for env_id in options.env_ids:
        for num_envs in options.num_envs:
            rates = measure(env_id, num_envs, options.cpus, options.rounds, options.seconds)
            fastest = max(rates.values())
            cells = [_cell(rates.get(name), fastest) for name in BACKENDS]
            print(f"| {env_id} | {num_envs} | " + " | ".join(cells) + " |", flush=True)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--env-ids", nargs="+", default=ENV_IDS)
    parser.add_argument("--num-envs", nargs="+", type=int, default=NUM_ENVS)
    parser.add_argument("--cpus", type=int, default=available_cpus())
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.3, help="of a backend's turn")
    return parser.parse_args()


def measure(env_id: str, num_envs: int, cpus: int, rounds: int, seconds: float) -> dict[str, float]:
    """Return the steps a second of each backend that the environment has."""
    batches = _build(env_id, num_envs, cpus)
    rates = dict.fromkeys(batches, 0.0)
    for envs in batches.values():
        envs.reset(seed=1)
    for _ in range(rounds):
        for name, envs in batches.items():
            rates[name] = max(rates[name], _rate(envs, seconds))
    for envs in batches.values():
        envs.close()
    return rates


def _build(env_id: str, num_envs: int, cpus: int) -> dict[str, EnvBatch]:
    env = resolve(env_id)
    batches: dict[str, EnvBatch] = {}
    for name in BACKENDS:
        try:
            batches[name] = build_envs(env, num_envs, backend=name, cpus=cpus)
        except MosaicError:
            continue  # not for this environment, or not installed: an empty cell
    return batches


def _rate(envs: EnvBatch, seconds: float) -> float:
    actions = itertools.cycle(_random_actions(envs, 64))
    steps = 0
    start = time.perf_counter()
    while time.perf_counter() - start < seconds:
        for batch in itertools.islice(actions, 8):
            envs.step(batch)
        steps += 8 * envs.num_envs
    return steps / (time.perf_counter() - start)


def _random_actions(envs: EnvBatch, count: int) -> Sequence[np.ndarray[Any, Any]]:
    rng = np.random.default_rng(1)
    space = envs.action_space
    if isinstance(space, spaces.Discrete):
        return list(rng.integers(space.n, size=(count, envs.num_envs)))
    assert space.shape is not None
    shape = (count, envs.num_envs, *space.shape)
    return list(rng.uniform(-1, 1, shape).astype(np.float32))


def _cell(rate: float | None, fastest: float) -> str:
    if rate is None:
        return ""
    return f"{rate / 1000:.1f}{' *' if rate == fastest else ''}"


if __name__ == "__main__":
    main()
