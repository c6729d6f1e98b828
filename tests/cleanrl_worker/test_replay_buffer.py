"""The replay buffer holds the newest transitions, and bootstraps what was only cut."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from gymnasium import spaces

from cleanrl_worker.envs.vector import Step
from cleanrl_worker.preparation import prepare, summarise
from cleanrl_worker.replay.buffer import ReplayBuffer
from mosaic.contracts.errors import ConfigError

CPU = torch.device("cpu")
OBS, ACTIONS = spaces.Box(-1, 1, (2,)), spaces.Discrete(3)


def add(buffer: ReplayBuffer, *numbers: int) -> None:
    """Add a transition for each number n: from n to n + 0.5, ended where n is even."""
    obs = np.array([[number, number] for number in numbers], np.float32)
    even = np.array([number % 2 == 0 for number in numbers])
    step = Step(obs, np.array(numbers, np.float32), even, ~even, obs + 0.5, ())
    buffer.add(obs, np.array(numbers) % 3, step)


def test_a_sample_holds_whole_transitions() -> None:
    buffer = ReplayBuffer(100, OBS, ACTIONS)
    for number in range(0, 40, 2):
        add(buffer, number, number + 1)

    batch = buffer.sample(np.random.default_rng(0), 64, CPU)

    numbers = batch.obs[:, 0]
    assert torch.equal(batch.next_obs[:, 0], numbers + 0.5)
    assert torch.equal(batch.rewards, numbers)
    assert torch.equal(batch.actions, numbers.long() % 3)
    assert torch.equal(batch.ends, (numbers % 2 == 0).float())  # a truncation is no end
    assert len(numbers.unique()) > 20


def test_the_oldest_give_way_to_the_newest_across_the_ring() -> None:
    buffer = ReplayBuffer(5, OBS, ACTIONS)
    for number in range(0, 12, 3):
        add(buffer, number, number + 1, number + 2)

    sampled = buffer.sample(np.random.default_rng(0), 200, CPU).rewards.unique()

    assert sampled.tolist() == [7, 8, 9, 10, 11]
    assert len(buffer) == 5


def test_its_memory_is_known_beforehand() -> None:
    buffer = ReplayBuffer(1000, OBS, ACTIONS)
    held = sum(column.nbytes for column in buffer.columns.values())
    assert ReplayBuffer.size_bytes(1000, OBS, ACTIONS) == held


@pytest.mark.parametrize(
    ("flags", "least_mb", "most_mb"),
    [
        (["--buffer-size=20000"], 0.5, 2.0),
        (["--buffer-size=20000", "--checkpoint-replay=none"], 0.0, 0.5),
    ],
)
def test_a_dry_run_states_the_disk_that_it_takes(
    flags: list[str], least_mb: float, most_mb: float
) -> None:
    prepared = prepare("dqn", [*flags, "--dry-run"])
    assert least_mb < summarise(prepared)["resources"]["disk_mb"] < most_mb


def test_a_buffer_that_does_not_fit_is_refused_with_the_numbers() -> None:
    with pytest.raises(ConfigError, match=r"would store [\d.]+ GB of experience, and [\d.]+ GB"):
        prepare("dqn", ["--buffer-size=100000000000"])
