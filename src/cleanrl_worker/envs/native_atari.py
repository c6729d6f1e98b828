"""Atari games in ale-py's own C++ vector environment: emulated and scaled in its threads.

Left to itself it plays another task: a lost life would end the game, FIRE comes before the idle
frames and only for one, and a stack begins with black pictures. So it is asked for pictures alone,
one game to an interface, since games of one can only be stepped together; `GameBatch` does the
rest. Two things remain its own: a game begins after 0 to 29 idle frames instead of 1 to 30, drawn
from its own generator, and the picture of the step in which a game ends is an older one, from which
nobody learns. Hence it is used only where it is asked for.
"""

from __future__ import annotations

from typing import Any

import ale_py
import numpy as np
from ale_py import roms

from cleanrl_worker.envs.atari import NOOP_MAX, SIZE, SKIP
from cleanrl_worker.envs.games import NO_LIMIT, GameBatch, Played
from cleanrl_worker.envs.observations import Array
from cleanrl_worker.envs.processes import available_cpus
from cleanrl_worker.envs.registry import ResolvedEnv

_FIRST = np.array([0])
_FULL_STRENGTH = np.array([1.0], np.float32)


class NativeEmulator:
    """One game. Its own limit of frames counts from after the idle ones, so it has none."""

    def __init__(self, game: str, *, stickiness: float, full_action_space: bool) -> None:
        rom_path = roms.get_rom_path(game)
        assert rom_path is not None, game
        self._ale = ale_py.ALEVectorInterface(
            rom_path=rom_path,
            num_envs=1,
            frame_skip=SKIP,
            stack_num=1,
            img_height=SIZE,
            img_width=SIZE,
            grayscale=True,
            maxpool=True,
            noop_max=NOOP_MAX,
            use_fire_reset=False,
            episodic_life=False,
            life_loss_info=False,
            reward_clipping=False,
            max_episode_steps=NO_LIMIT,
            repeat_action_probability=stickiness,
            full_action_space=full_action_space,
            batch_size=0,
            num_threads=1,
            thread_affinity_offset=-1,
            autoreset_mode="NextStep",
        )

    def load(self, seed: int | None) -> Played:
        """Begin a game; without a seed its random numbers go on."""
        emulator_seed = -1 if seed is None else _emulator_seed(seed)
        pictures, info = self._ale.reset(_FIRST, np.array([emulator_seed]))
        return _played(pictures, 0.0, is_over=False, info=info)

    def send(self, action: int) -> None:
        """Let the thread play; `receive` waits for it."""
        self._ale.send(np.array([action]), _FULL_STRENGTH)

    def receive(self) -> Played:
        pictures, points, over, _, info = self._ale.recv()
        return _played(pictures, float(points[0]), is_over=bool(over[0]), info=info)

    def play(self, action: int) -> Played:
        self.send(action)
        return self.receive()


def _played(pictures: Array, points: float, *, is_over: bool, info: dict[str, Any]) -> Played:
    lives, frames = int(info["lives"][0]), int(info["episode_frame_number"][0])
    return Played(pictures[0, 0], points, is_over, lives, frames)


def _emulator_seed(seed: int) -> int:
    """Return what AtariEnv gives its emulator, without the sign, which is not taken here."""
    return int(np.random.SeedSequence(seed).generate_state(2)[1]) % 2**31


class NativeGames(GameBatch):
    """A batch of games, of which as many are emulated at once as there are processors."""

    def __init__(self, env: ResolvedEnv, num_envs: int, threads: int | None = None) -> None:
        super().__init__(env, num_envs, "native")
        self._at_once = threads or available_cpus()
        self._emulators: list[NativeEmulator] = []
        self.rebuild()

    def play(self, actions: list[int]) -> list[Played]:
        played = []
        for first in range(0, self.num_envs, self._at_once):
            rows = slice(first, first + self._at_once)
            for emulator, action in zip(self._emulators[rows], actions[rows], strict=True):
                emulator.send(action)
            played += [emulator.receive() for emulator in self._emulators[rows]]
        return played

    def rebuild(self) -> None:
        self.close()
        game, stickiness, full, _ = self.settings
        self._emulators = [
            NativeEmulator(game, stickiness=stickiness, full_action_space=full)
            for _ in range(self.num_envs)
        ]
        self.games = [self.game_of(emulator) for emulator in self._emulators]

    def close(self) -> None:
        """Let the emulators go, and their threads with them."""
        self.games = []
        self._emulators = []
