"""Atari games in envpool: emulated and scaled by its threads.

Its lives, its FIRE and its stacks are not those of the games here: so it is asked for pictures
alone, and `GameBatch` does the rest. Frame by frame they are then the pictures of the sync backend.
Three things remain its own: how many idle frames, 1 to 30 as well, come before a game is drawn from
its own generator; those do not count towards the longest game; and the picture of the step in which
a game ends can be an older one, from which nobody learns.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cleanrl_worker.envs.atari import NOOP_MAX, SIZE, SKIP
from cleanrl_worker.envs.games import NO_LIMIT, GameBatch, Played
from cleanrl_worker.envs.observations import Array
from cleanrl_worker.envs.pooled import LARGEST_SEED, check_envpool, unfit
from cleanrl_worker.envs.processes import available_cpus
from cleanrl_worker.envs.registry import ResolvedEnv


class PooledEmulator:
    """One game of a pool. Its seed was given when the pool was made, and later games draw on."""

    def __init__(self, pool: Any, index: int) -> None:
        self._pool = pool
        self._row = np.array([index], np.int32)

    def load(self, seed: int | None) -> Played:
        pictures, info = self._pool.reset(self._row)
        return played_rows(pictures, np.zeros(1), np.zeros(1, np.bool_), info)[0]

    def play(self, action: int) -> Played:
        pictures, points, over, _, info = self._pool.step(np.array([action]), self._row)
        return played_rows(pictures, points, over, info)[0]


def played_rows(pictures: Array, points: Array, over: Array, info: dict[str, Any]) -> list[Played]:
    frames = info["elapsed_step"] * SKIP
    return [
        Played(picture[-1], float(points[row]), bool(over[row]), int(lives), int(frames[row]))
        for row, (picture, lives) in enumerate(zip(pictures, info["lives"], strict=True))
    ]


class PooledGames(GameBatch):
    """A batch of games in one pool. It is made in `reset`, since only then envpool takes seeds."""

    def __init__(self, env: ResolvedEnv, num_envs: int, threads: int | None = None) -> None:
        check_envpool()
        import envpool

        super().__init__(env, num_envs, "envpool")
        self._task = "".join(word.title() for word in self.settings.game.split("_")) + "-v5"
        if self._task not in envpool.list_all_envs():
            raise unfit(env.id, "envpool does not have it")
        self._threads = threads or available_cpus()
        self._pool: Any = None

    def reset(self, seed: int) -> Array:
        self.close()
        self._pool = self._make(seed)
        self.games = [
            self.game_of(PooledEmulator(self._pool, index)) for index in range(self.num_envs)
        ]
        return super().reset(seed)

    def _make(self, seed: int) -> Any:
        import envpool

        return envpool.make(
            self._task,
            env_type="gymnasium",
            num_envs=self.num_envs,
            num_threads=min(self.num_envs, self._threads),
            env_seed=[(seed + index) % LARGEST_SEED for index in range(self.num_envs)],
            max_episode_steps=NO_LIMIT,
            stack_num=1,
            frame_skip=SKIP,
            noop_max=NOOP_MAX,
            img_height=SIZE,
            img_width=SIZE,
            episodic_life=False,
            reward_clip=False,
            use_fire_reset=False,
            repeat_action_probability=self.settings.stickiness,
            full_action_space=self.settings.full_action_space,
        )

    def play(self, actions: list[int]) -> list[Played]:
        pictures, points, over, _, info = self._pool.step(np.array(actions))
        return played_rows(pictures, points, over, info)

    def rebuild(self) -> None:
        """Nothing to do: `reset` builds."""

    def close(self) -> None:
        self.games = []
        if self._pool is not None:
            self._pool.close()
            self._pool = None
