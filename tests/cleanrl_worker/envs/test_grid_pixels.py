"""MiniGrid as pictures, for the algorithm that asks for them; and Memory Gym, which is not here."""

from __future__ import annotations

import numpy as np
import pytest

from cleanrl_worker.envs.build import build_envs
from cleanrl_worker.envs.registry import resolve
from cleanrl_worker.envs.sight import Sight
from mosaic.contracts.errors import EXIT_DEPENDENCY, DependencyMissing

MEMORY = "MiniGrid-MemoryS7-v0"


def test_a_grid_is_seen_as_a_picture_of_the_cells_before_the_agent() -> None:
    envs = build_envs(resolve(MEMORY, sight=Sight(grid_pixels=True)), 2)
    obs = envs.reset(1)
    assert obs.shape == (2, 84, 84, 3)
    assert obs.dtype == np.uint8
    assert obs.max() > 100
    assert envs.max_episode_steps == 96
    ended = 0
    for _ in range(97):
        ended += len(envs.step(np.zeros(2, np.int64)).episodes)
    assert ended == 2
    envs.close()


def test_without_asking_it_is_seen_as_numbers() -> None:
    envs = build_envs(resolve(MEMORY), 1)
    assert envs.observation_space.shape == (7, 7, 3)
    envs.close()


@pytest.mark.parametrize("env_id", ["MortarMayhem-Grid-v0", "Endless-MysteryPath-v0"])
def test_memory_gym_is_named_where_it_is_missing(env_id: str) -> None:
    with pytest.raises(DependencyMissing) as error:
        resolve(env_id)
    assert error.value.exit_code == EXIT_DEPENDENCY
    assert "pip install --no-deps memory-gym" in error.value.one_line()
