"""What networks get to see of every kind of observation space."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

from cleanrl_worker.envs.observations import ObservationEncoder
from cleanrl_worker.envs.registry import make, resolve
from mosaic.contracts.errors import ConfigError


def encoded(space: gym.Space[Any], observation: Any) -> np.ndarray[Any, Any]:
    encoder = ObservationEncoder(space, "Test-v0")
    rows = encoder.allocate(2)
    rows[1] = encoder.encode(observation)
    assert encoder.space.contains(rows[1])
    return rows[1]


def test_a_box_of_floats_becomes_float32() -> None:
    row = encoded(spaces.Box(-1e300, 1e300, (2, 2), np.float64), np.full((2, 2), 0.1))
    assert row.dtype == np.float32
    assert row.tolist() == np.full((2, 2), 0.1, np.float32).tolist()


def test_bytes_stay_bytes() -> None:
    assert encoded(spaces.Box(0, 255, (4,), np.uint8), np.arange(4)).dtype == np.uint8


@pytest.mark.parametrize(
    ("space", "observation", "expected"),
    [
        (spaces.Discrete(4), 2, [0, 0, 1, 0]),
        (spaces.Discrete(3, start=-1), -1, [1, 0, 0]),
        (spaces.MultiDiscrete([2, 3]), np.array([1, 2]), [0, 1, 0, 0, 1]),
        (spaces.MultiBinary(3), np.array([1, 0, 1], np.int8), [1, 0, 1]),
        (spaces.Tuple((spaces.Discrete(2), spaces.Discrete(3))), (1, 0), [0, 1, 1, 0, 0]),
        (
            spaces.Dict({"a": spaces.Box(-9, 9, (2,), np.float64), "b": spaces.Discrete(2)}),
            {"a": np.array([0.5, -2.0]), "b": 1},
            [0.5, -2.0, 0, 1],
        ),
    ],
)
def test_everything_else_becomes_one_vector(
    space: gym.Space[Any], observation: Any, expected: list[float]
) -> None:
    row = encoded(space, observation)
    assert row.dtype == np.float32
    assert row.tolist() == expected


@pytest.mark.parametrize(
    ("env_id", "shape"),
    [("FrozenLake-v1", (16,)), ("Taxi-v4", (500,)), ("Blackjack-v1", (32 + 11 + 2,))],
)
def test_toy_text_is_one_hot(env_id: str, shape: tuple[int, ...]) -> None:
    env = make(resolve(env_id))
    row = encoded(env.observation_space, env.reset(seed=1)[0])
    assert row.shape == shape
    assert set(row.tolist()) == {0.0, 1.0}


@pytest.mark.parametrize("env_id", ["MiniGrid-DoorKey-5x5-v0", "BabyAI-GoToRedBall-v0"])
def test_a_grid_is_seen_as_its_image_alone(env_id: str) -> None:
    env = make(resolve(env_id))
    observation = env.reset(seed=1)[0]
    row = encoded(env.observation_space, observation)
    assert (row.shape, row.dtype) == ((7, 7, 3), np.uint8)
    assert np.array_equal(row, observation["image"])


@pytest.mark.parametrize(
    "space", [spaces.Sequence(spaces.Discrete(3)), spaces.Graph(spaces.Box(0, 1, (2,)), None)]
)
def test_a_space_without_a_size_is_refused(space: gym.Space[Any]) -> None:
    with pytest.raises(ConfigError) as refused:
        ObservationEncoder(space, "Odd-v0")
    assert "env_id='Odd-v0' has the observation space" in refused.value.one_line()
