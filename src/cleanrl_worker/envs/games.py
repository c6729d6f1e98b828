"""Batches of Atari games whose emulators stand elsewhere and give pictures alone.

What `AtariGame` does around its own emulator is done here around theirs: lives, scores, FIRE,
clipped rewards, stacks of pictures, the longest game. So a game is the same whoever emulates it.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import gymnasium as gym
import numpy as np

from cleanrl_worker.envs.atari import FIRE, NEXT, NOOP, AtariGame
from cleanrl_worker.envs.observations import Array
from cleanrl_worker.envs.pictures import enlarge
from cleanrl_worker.envs.registry import ResolvedEnv, make
from cleanrl_worker.envs.vector import Episode, Step
from mosaic.contracts.errors import ConfigError

NO_LIMIT = 2**30  # frames
# What an id may set. Frames are skipped and pictures made here, whatever it says of them.
SUPPORTED = {
    "game",
    "repeat_action_probability",
    "full_action_space",
    "max_num_frames_per_episode",
    "frameskip",
    "obs_type",
}


class Played(NamedTuple):
    """What one step of a game gave."""

    picture: Array
    points: float
    is_over: bool
    lives: int
    frames: int


class Emulator(Protocol):
    """One game: an action lasts four frames, a picture is the maximum of the last two."""

    def load(self, seed: int | None) -> Played:
        """Begin a game; without a seed its random numbers go on."""

    def play(self, action: int) -> Played: ...


class GameSettings(NamedTuple):
    """What an id says of its game: stickiness, all actions, and the frames of the longest game."""

    game: str
    stickiness: float
    full_action_space: bool
    frame_limit: int


class Game:
    """The lives and the score of one game, as `AtariGame` counts them."""

    def __init__(self, emulator: Emulator, *, fires: bool, frame_limit: int) -> None:
        self.emulator = emulator
        self._fires = fires
        self._frame_limit = frame_limit
        self._score, self._length, self._lives = 0.0, 0, 0

    def begin(self, seed: int | None = None) -> Array:
        """Begin a game, and return its first picture."""
        self._score, self._length = 0.0, 0
        played = self._fire(self.emulator.load(seed))
        if self.is_finished(played):
            played = self.emulator.load(None)
        self._lives = played.lives
        return played.picture

    def note(self, played: Played) -> bool:
        """Count a step; return whether a life was lost that was not the last.

        Some games (Qbert) show no lives for a few frames before they end.
        """
        self._score += played.points
        self._length += 1
        before, self._lives = self._lives, played.lives
        return 0 < self._lives < before

    def is_finished(self, played: Played) -> bool:
        return played.is_over or played.frames >= self._frame_limit

    def go_on(self, played: Played) -> tuple[Array, tuple[float, int] | None]:
        """Begin the next life, or a game where there is none.

        Return its picture, and the score and length of the game that ended, if one did.
        """
        if not self.is_finished(played):
            played = self._fire(self._press(NOOP))
        if not self.is_finished(played):
            self._lives = played.lives
            return played.picture, None
        finished = self._score, self._length
        return self.begin(), finished

    def _fire(self, played: Played) -> Played:
        for action in (FIRE, NEXT) if self._fires else ():
            if not self.is_finished(played):
                played = self._press(action)
        return played

    def _press(self, action: int) -> Played:
        played = self.emulator.play(action)
        self._score += played.points
        return played


class GameBatch:
    """A batch of games. What emulates them makes the games, and plays one action in every one."""

    def __init__(self, env: ResolvedEnv, num_envs: int, backend: str) -> None:
        self.settings = read_settings(env, backend)
        self.num_envs = num_envs
        twin = make(env)
        assert isinstance(twin, AtariGame)
        assert isinstance(twin.observation_space, gym.spaces.Box)
        self.observation_space: gym.spaces.Box = twin.observation_space
        self.action_space = twin.action_space
        self.max_episode_steps = twin.max_steps
        self._fires = twin.fires
        twin.close()
        self._obs: Array = np.zeros((num_envs, *self.observation_space.shape), np.uint8)
        self.games: list[Game] = []

    def game_of(self, emulator: Emulator) -> Game:
        return Game(emulator, fires=self._fires, frame_limit=self.settings.frame_limit)

    def play(self, actions: list[int]) -> list[Played]:
        """Play one action in every game."""
        raise NotImplementedError

    def reset(self, seed: int) -> Array:
        self._obs = np.empty_like(self._obs)
        for index, game in enumerate(self.games):
            self._obs[index] = game.begin(seed + index)  # the first picture, in the whole stack
        return self._obs

    def step(self, actions: Array) -> Step:
        next_obs = np.empty_like(self._obs)
        next_obs[:, :-1] = self._obs[:, 1:]
        rewards = np.empty(self.num_envs, np.float32)
        terminated, truncated = np.zeros((2, self.num_envs), np.bool_)
        ended: list[tuple[int, Played]] = []
        for index, played in enumerate(self.play(actions.tolist())):
            game = self.games[index]
            next_obs[index, -1] = played.picture
            rewards[index] = np.sign(played.points)
            terminated[index] = game.note(played) or played.is_over
            truncated[index] = game.is_finished(played) and not played.is_over
            if terminated[index] or truncated[index]:
                ended.append((index, played))
        episodes: list[Episode] = []
        self._obs = next_obs
        if ended:
            self._obs = next_obs.copy()
            episodes = self._go_on(ended)
        return Step(self._obs, rewards, terminated, truncated, next_obs, episodes)

    def _go_on(self, ended: list[tuple[int, Played]]) -> list[Episode]:
        """Begin what follows ended episodes, and return the games among them."""
        episodes = []
        for index, played in ended:
            self._obs[index], finished = self.games[index].go_on(played)
            if finished is not None:
                episodes.append(Episode(index, *finished))
        return episodes

    def picture(self, index: int, max_dim: int) -> Array:
        """Show what the agent sees: the emulator keeps its screen to itself."""
        return enlarge(self._obs[index, -1], max_dim)


def read_settings(env: ResolvedEnv, backend: str) -> GameSettings:
    options = gym.spec(env.id).kwargs
    given = {name for name, value in options.items() if value is not None}
    unknown = sorted(given - SUPPORTED)
    if unknown:
        raise ConfigError(
            f"env_backend={backend!r} cannot be used with env_id={env.id!r}: it does not have "
            f"{unknown[0]}={options[unknown[0]]!r}.",
            hint="Use env_backend='auto'.",
        )
    limit = options.get("max_num_frames_per_episode") or NO_LIMIT
    stickiness = options.get("repeat_action_probability", 0.25)  # AtariEnv's default
    return GameSettings(options["game"], stickiness, options.get("full_action_space", False), limit)
