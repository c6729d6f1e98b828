"""Runs of several processes: the same as one, and gone as one."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
import torch

from cleanrl_worker.algorithms import ppo, ppo_multigpu
from cleanrl_worker.channel import Channel
from cleanrl_worker.envs.build import build_envs
from cleanrl_worker.envs.registry import resolve
from cleanrl_worker.preparation import prepare
from cleanrl_worker.random_state import RandomState, rank_generator
from cleanrl_worker.ranks.group import Alone, Parcel, RankedState
from cleanrl_worker.ranks.placing import pick_backend, place_rank
from cleanrl_worker.recording import Run
from mosaic.contracts.errors import (
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    EXIT_OK,
    EXIT_TERMINATED,
    ConfigError,
)
from mosaic.workers.process_tree import find_run_processes
from tests.cleanrl_worker.conftest import SOURCE
from tests.contract.forked import Launched, launched
from tests.workers.test_processes import wait_until_gone

CPU = torch.device("cpu")
SEED = 3
LOCAL_ENVS = 2
SETTINGS: dict[str, Any] = {
    "num_steps": 16,
    "num_minibatches": 4,
    "update_epochs": 3,
    "learning_rate": 0.001,
}
STEPS = 8 * 16 * 2 * LOCAL_ENVS
ENDLESS = ["--env-id=CartPole-v1", "--local-num-envs=1", "--num-steps=16", "--num-minibatches=2"]
SECONDS = 60.0
GRACE_S = 10.0


class BothGenerators:
    """What two ranks draw, as one process that does the work of both would draw it.

    A rank permutes its own samples. So a minibatch of the one process is made of the minibatches
    that the two ranks take at that moment, and its noise is theirs side by side.
    """

    def __init__(self, seed: int, num_minibatches: int) -> None:
        self._ranks = [rank_generator(seed, rank) for rank in range(2)]
        self._num_minibatches = num_minibatches

    def gumbel(self, size: tuple[int, int, int]) -> np.ndarray:
        steps, envs, outputs = size
        share = (steps, envs // 2, outputs)
        return np.concatenate([rng.gumbel(size=share) for rng in self._ranks], 1)

    def permutation(self, count: int) -> np.ndarray:
        minibatches = []
        for rank, rng in enumerate(self._ranks):
            step, env = np.divmod(rng.permutation(count // 2), LOCAL_ENVS)
            rows = (2 * step + rank) * LOCAL_ENVS + env  # where the one process has this sample
            minibatches.append(rows.reshape(self._num_minibatches, -1))
        return np.concatenate(minibatches, 1).reshape(-1)


def trained_by_one() -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]:
    """Return the weights before and after plain PPO in one process, with all environments."""
    torch.manual_seed(SEED)
    config = ppo.Config(num_envs=2 * LOCAL_ENVS, clip_coef=0.1, **SETTINGS)
    envs = build_envs(resolve("CartPole-v1"), config.num_envs)
    agent = ppo.build(config, envs)
    before = {name: tensor.clone() for name, tensor in agent.state_dict().items()}
    run = Run(total_timesteps=STEPS, seed=SEED, channel=Channel(None))
    run.rng = BothGenerators(SEED, config.num_minibatches)  # type: ignore[assignment]
    ppo.train(run, config, envs, agent, CPU)
    assert run.step == STEPS
    return before, agent.state_dict()


def test_two_processes_learn_what_one_learns_from_the_same_batches(tmp_path: Path) -> None:
    flags = [f"--{name.replace('_', '-')}={value}" for name, value in SETTINGS.items()]
    given = ["--env-id=CartPole-v1", f"--seed={SEED}", f"--total-timesteps={STEPS}"]
    local = f"--local-num-envs={LOCAL_ENVS}"
    with launched(tmp_path / "two", "ppo_atari_multigpu", *given, local, *flags) as two:
        assert two.wait() == EXIT_OK, two.output
    before, one = trained_by_one()

    assert two.weights.keys() == one.keys()
    moved = max(float((one[name] - before[name]).abs().max()) for name in one)
    apart = max(float((one[name] - two.weights[name]).abs().max()) for name in one)
    print(f"weights moved by up to {moved:.1e}, and differ by up to {apart:.1e}")
    assert moved > 1e-2
    assert apart < 1e-4 * moved


def other_rank(process_id: int) -> psutil.Process:
    """Return rank 1 of the run that this process, or a child of it, is rank 0 of."""
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        for child in psutil.Process(process_id).children(recursive=True):
            if "cleanrl_worker.ranks.main" in child.cmdline():
                return child
        time.sleep(0.05)
    raise AssertionError("no rank 1")


@pytest.fixture
def endless(tmp_path: Path) -> Iterator[Launched]:
    with launched(tmp_path / "run", "ppo_atari_multigpu", *ENDLESS) as run:
        run.wait_until_it_trains()
        yield run


def test_the_other_rank_dies_with_rank_0(endless: Launched) -> None:
    pid = endless._process.pid
    assert pid is not None
    other = other_rank(pid)
    os.kill(pid, signal.SIGKILL)
    assert wait_until_gone(other.pid)


def test_a_rank_that_is_killed_ends_the_run_with_its_cause(endless: Launched) -> None:
    assert endless._process.pid is not None
    other_rank(endless._process.pid).kill()
    assert endless.wait() == EXIT_FAILED
    assert endless.output.splitlines()[-1] == (
        "Rank 1 was killed by signal 9 (SIGKILL). Out of memory is the usual cause."
    )


def test_a_signal_to_any_rank_stops_the_run(endless: Launched) -> None:
    assert endless._process.pid is not None
    other = other_rank(endless._process.pid)
    other.terminate()
    assert endless.wait() == EXIT_TERMINATED, endless.output
    assert wait_until_gone(other.pid)
    assert not list(endless.home.glob("rendezvous"))


FAULTY = """
import gymnasium as gym
from gymnasium.envs.classic_control import CartPoleEnv

class Faulty(CartPoleEnv):
    seed = None

    def reset(self, *, seed=None, options=None):
        self.seed = self.seed or seed
        return super().reset(seed=seed, options=options)

    def step(self, action):
        if self.seed == 2:  # environment 1, which is rank 1's
            raise ValueError("the pole broke")
        return super().step(action)

gym.register("Faulty-v0", Faulty, max_episode_steps=500)
"""


def start_worker(tmp_path: Path, env_id: str) -> subprocess.Popen[str]:
    parameters = {"local_num_envs": 1, "num_steps": 16, "num_minibatches": 2}
    config = {
        "run_id": tmp_path.name,
        "algo": "ppo_atari_multigpu",
        "env_id": env_id,
        "total_timesteps": 10_000_000,
        "seed": 1,
        "extras": {"algo_params": parameters, "fastlane_video_mode": "off"},
    }
    (tmp_path / "cfg.json").write_text(json.dumps(config))
    (tmp_path / "faulty.py").write_text(FAULTY)
    (tmp_path / "var").mkdir()
    (tmp_path / "var" / "mosaic.toml").write_text('[allow]\nenv_modules = ["faulty"]\n')
    path = os.pathsep.join((SOURCE, str(tmp_path)))
    return subprocess.Popen(
        [sys.executable, "-m", "cleanrl_worker.cli", "--config", "cfg.json"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path, "MOSAIC_VAR_DIR": str(tmp_path / "var")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def end_of(worker: subprocess.Popen[str]) -> dict[str, Any]:
    """Return what the last event says, after the worker has failed."""
    stdout, stderr = worker.communicate(timeout=SECONDS)
    assert worker.returncode == EXIT_FAILED, stderr
    last = json.loads(stdout.splitlines()[-1])
    assert last["event"] == "run_failed"
    payload: dict[str, Any] = last["payload"]
    return payload


def test_an_interrupt_from_the_keyboard_ends_all_ranks(tmp_path: Path) -> None:
    with start_worker(tmp_path, "CartPole-v1") as worker:
        other = other_rank(worker.pid)
        assert other.environ()["MOSAIC_RUN_ID"] == tmp_path.name
        assert worker.stdout is not None
        while '"metric"' not in worker.stdout.readline():
            assert worker.poll() is None
        os.killpg(worker.pid, signal.SIGINT)
        worker.communicate(timeout=GRACE_S)
        assert worker.returncode == EXIT_INTERRUPTED
    assert find_run_processes(tmp_path.name, None) == []


def test_a_rank_that_raises_ends_the_run_with_its_cause(tmp_path: Path) -> None:
    payload = end_of(start_worker(tmp_path, "faulty:Faulty-v0"))
    assert payload["error"] == "Rank 1: ValueError: the pole broke"
    assert 'raise ValueError("the pole broke")' in "".join(payload["stderr_tail"])
    assert find_run_processes(tmp_path.name, None) == []


def test_a_rank_hands_its_random_states_to_rank_0(tmp_path: Path) -> None:
    store = torch.distributed.FileStore(str(tmp_path / "store"), 2)
    generators = [rank_generator(SEED, rank) for rank in range(2)]
    first, second = (
        RankedState(RandomState(rng), rank, 2, [Parcel(store, 1)])
        for rank, rng in enumerate(generators)
    )
    second.state_dict()
    state = first.state_dict()
    drawn = generators[1].random()
    second.load_state_dict(state)
    assert generators[1].random() == drawn
    assert generators[0].random() != drawn

    lone = Alone(3).gathered(RandomState(generators[0]))
    with pytest.raises(ValueError, match=r"it is of world_size=2, not 3"):
        lone.load_state_dict(state)
    with pytest.raises(ValueError, match=r"it is of world_size=1, not 3"):
        lone.load_state_dict(Alone().gathered(RandomState(generators[0])).state_dict())


def test_advantages_are_normalised_over_all_samples_of_a_minibatch() -> None:
    advantages = torch.randn(4, 32) * 3 + 5
    expected = (advantages - advantages.mean(1, keepdim=True)) / advantages.std(1, keepdim=True)
    assert torch.allclose(ppo_multigpu.normalised(Alone(), advantages), expected, atol=1e-5)


@pytest.mark.parametrize(
    ("flags", "line"),
    [
        (["--backend=nccl"], "backend='nccl' needs GPUs, and the run is on the CPU."),
        (["--device-ids", "0"], "device_ids=[0] names 1 GPUs for world_size=2 processes"),
        (["--device-ids", "0", "1"], "device_ids=[0, 1] names GPUs, and the run is on the CPU."),
        (["--world-size=0"], "world_size=0 is not allowed: give a whole number from 1 to 1024."),
        (["--num-envs=8"], "ppo_atari_multigpu has no parameter 'num_envs'."),
        (
            ['--curriculum-schedule=[{"env_id": "CartPole-v1", "steps": 10}]'],
            "world_size=2 cannot be used with a curriculum",
        ),
    ],
)
def test_what_cannot_be_shared_is_refused_in_one_line(flags: list[str], line: str) -> None:
    with pytest.raises(ConfigError) as raised:
        prepare("ppo_atari_multigpu", ["--env-id=CartPole-v1", "--dry-run", *flags])
    assert line in raised.value.one_line()


@pytest.mark.parametrize(
    ("gpus", "ids", "expected"),
    [(4, (), [0, 1]), (4, (3, 1), [3, 1]), (1, (), [0, 0])],
)
def test_each_rank_has_its_gpu(
    gpus: int, ids: tuple[int, ...], expected: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: gpus)
    monkeypatch.setattr(torch.cuda, "set_device", lambda _: None)
    placed = [place_rank(torch.device("cuda"), rank, 2, ids, "gloo") for rank in range(2)]
    assert [device.index for device, _ in placed] == expected
    assert placed[0][1] == (() if gpus > 1 else ("2 processes share 1 GPU.",))
    used = pick_backend("auto", placed[0][0], 2, ids)
    assert used == ("gloo" if gpus == 1 else "nccl")
    if gpus == 1:
        with pytest.raises(ConfigError, match="needs a GPU for each of world_size=2"):
            place_rank(torch.device("cuda"), 0, 2, ids, "nccl")
