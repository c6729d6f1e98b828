"""Atari games as deep Q-learning saw them (Mnih et al. 2015), and since then nearly everybody."""

from __future__ import annotations

from typing import Any

import ale_py
import cv2
import gymnasium as gym
import numpy as np
from ale_py.env import AtariEnv
from gymnasium import spaces

from cleanrl_worker.envs.observations import Array

SKIP = 4  # frames of a step
STACK = 4  # pictures of an observation
SIZE = 84  # pixels of a picture's side
NOOP_MAX = 30  # frames that pass before a game begins, at most
NOOP, FIRE, NEXT = 0, 1, 2  # actions by number; the last is whatever follows FIRE

ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)  # it greets otherwise
# A screen of 160x210 is not worth waking a thread for.
cv2.setNumThreads(1)


class AtariGame(gym.Env[Array, int]):
    """One game, prepared as CleanRL's `ppo_atari`, `dqn_atari` and `c51_atari` have it.

    A step plays an action for four frames. Its picture is the maximum of the last two, since
    sprites flicker, in gray and 84x84; an observation is the last four pictures, or `stack`, which
    after a reset are all the first. A game begins after 1 to 30 frames without an action and, where
    the game has FIRE, with that. Rewards are clipped to their sign.

    A lost life ends an episode; `reset` then goes on with the same game. `finished_game` is the
    score and the length in steps of the game, all its lives, that the last step or reset ended.
    With `whole_games`, for an evaluation, only the end of the game is an end, and rewards are
    points; lives begin as in training.

    The picture of a step in which the game ends is the last screen. (Gymnasium's AtariPreprocessing
    shows an older one then.)
    """

    def __init__(
        self,
        emulator: AtariEnv,
        *,
        whole_games: bool = False,
        noop_max: int = NOOP_MAX,
        stack: int = STACK,
    ) -> None:
        self._emulator = emulator
        self._ale = emulator.ale
        self._whole_games = whole_games
        self._noop_max = noop_max
        meanings = emulator.get_action_meanings()
        self._actions = [getattr(ale_py.Action, name) for name in meanings]
        self.fires = len(meanings) > NEXT and meanings[FIRE] == "FIRE"
        frames = self._ale.getInt("max_num_frames_per_episode")
        self.max_steps: int | None = frames // SKIP if frames > 0 else None
        self.spec = emulator.spec
        self.render_mode = emulator.render_mode
        self.metadata = {"render_modes": ["rgb_array"], "render_fps": 60 // SKIP}
        self.action_space = emulator.action_space
        self.observation_space = spaces.Box(0, 255, (stack, SIZE, SIZE), np.uint8)
        self.finished_game: tuple[float, int] | None = None
        self._screens = np.zeros((2, *self._ale.getScreenDims()), np.uint8)
        self._stack = np.zeros((stack, SIZE, SIZE), np.uint8)
        self._score = 0.0
        self._length = 0
        self._lives = 0
        self._has_begun = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Begin the next life; with a seed, or where there is none left, a new game."""
        goes_on = self._has_begun and seed is None and not self._is_over()
        if goes_on:
            self._begin_life()
            self._note_end()
        if not goes_on or self._is_over():
            self._begin_game(seed)
        return self._stack.copy(), {}

    def step(self, action: int) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        before = self._score
        self._play(action)
        self._length += 1
        self._stack[:-1] = self._stack[1:]
        self._stack[-1] = self._picture()
        has_lost = self._has_lost_a_life()
        if has_lost and self._whole_games and not self._is_over():
            self._begin_life()
            has_lost = False
        self._note_end()
        terminated = bool(self._ale.game_over(with_truncation=False))
        truncated = bool(self._ale.game_truncated())
        points = self._score - before
        if self._whole_games:
            return self._stack.copy(), points, terminated, truncated, {}
        return self._stack.copy(), float(np.sign(points)), terminated or has_lost, truncated, {}

    def render(self) -> Any:
        return self._emulator.render()

    def close(self) -> None:
        self._emulator.close()

    def _begin_game(self, seed: int | None) -> None:
        self._score, self._length = 0.0, 0
        self._has_begun = True
        self._load(seed)
        self._show_screen()
        if self.fires:
            self._press_fire()
        if self._is_over():
            self._load(None)
            self._show_screen()
        self._fill_stack()

    def _load(self, seed: int | None) -> None:
        """Let some frames of a new game pass, so that no two begin alike."""
        self._emulator.reset(seed=seed)
        if self._noop_max == 0:
            return
        for _ in range(self._emulator.np_random.integers(1, self._noop_max + 1)):
            self._score += self._ale.act(self._actions[NOOP])
            if self._is_over():
                self._emulator.reset()

    def _begin_life(self) -> None:
        self._play(NOOP)
        if self.fires and not self._is_over():
            self._press_fire()
        self._fill_stack()

    def _press_fire(self) -> None:
        for action in (FIRE, NEXT):
            if not self._is_over():
                self._play(action)

    def _play(self, action: int) -> None:
        """Play the frames of one step, and keep the last two screens."""
        for frame in range(SKIP):
            self._score += self._ale.act(self._actions[action])
            if self._is_over():
                self._show_screen()
                return
            if frame >= SKIP - len(self._screens):
                self._ale.getScreenGrayscale(self._screens[frame - SKIP])

    def _show_screen(self) -> None:
        for screen in self._screens:
            self._ale.getScreenGrayscale(screen)

    def _picture(self) -> Array:
        pooled = np.maximum(*self._screens)
        picture: Array = cv2.resize(pooled, (SIZE, SIZE), interpolation=cv2.INTER_AREA)
        return picture

    def _fill_stack(self) -> None:
        self._stack[:] = self._picture()
        self._lives = self._ale.lives()

    def _has_lost_a_life(self) -> bool:
        """Compare the lives: some games (Qbert) show none for a few frames before they end."""
        before, self._lives = self._lives, self._ale.lives()
        return 0 < self._lives < before

    def _is_over(self) -> bool:
        return bool(self._ale.game_over())

    def _note_end(self) -> None:
        self.finished_game = (self._score, self._length) if self._is_over() else None


def make_game(
    env_id: str, *, whole_games: bool = False, stack: int = STACK, **options: Any
) -> AtariGame:
    """Make a game. The id decides whether actions stick; frames are skipped here, and only here."""
    made = gym.make(env_id, disable_env_checker=True, frameskip=1, **options)
    emulator = made.unwrapped
    assert isinstance(emulator, AtariEnv)
    return AtariGame(emulator, whole_games=whole_games, stack=stack)
