"""Atari games of several players (PettingZoo's), in which every player is an environment.

A batch of `num_envs` counts players: eight games of two are sixteen. What a player sees are the
last four pictures, prepared as CleanRL's `ppo_pettingzoo_ma_atari` has them (the maximum of the
last two frames, the blue channel, 84x84), and a plane for each player, bright for the one it is. A
step plays four frames; rewards are clipped to their sign. Unlike CleanRL's, pictures are made
smaller by averaging, as in the other Atari games here, and a stack begins with the first one.

A game ends for all when it ends for one: whose own part was over is terminated, the others are
truncated, since what they would have won is not known.
"""

from __future__ import annotations

import importlib
import importlib.util
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from cleanrl_worker.envs.observations import Array
from cleanrl_worker.envs.pictures import shrink
from cleanrl_worker.envs.registry import PACKAGE_OF_PLAYERS, ResolvedEnv
from cleanrl_worker.envs.vector import Episode, Step
from mosaic.contracts.errors import ConfigError

SKIP, STACK, SIZE = 4, 4, 84
BLUE = 2
BRIGHT = 255  # of a plane: 1 where pictures are scaled


def load_game(name: str, **options: Any) -> Any:
    """Make one of PettingZoo's games, with the cartridge from ale-py's folder."""
    with warnings.catch_warnings():
        # PettingZoo 1.27 would have games made by its registry, which older ones do not have.
        warnings.simplefilter("ignore", DeprecationWarning)
        module = importlib.import_module(f"{PACKAGE_OF_PLAYERS}.{name}")
    found = importlib.util.find_spec("ale_py")
    assert found is not None
    assert found.origin is not None
    cartridges = Path(found.origin).parent / "roms"
    return module.parallel_env(auto_rom_install_path=str(cartridges), **options)


class PlayersGame(gym.Env[Array, Array]):
    """One game. Observations, actions, rewards and ends are arrays with a row for each player."""

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 60 // SKIP}  # noqa: RUF012

    def __init__(self, name: str, render_mode: str | None = None) -> None:
        self.render_mode = render_mode
        self._game = load_game(name, render_mode=render_mode)
        self._names = list(self._game.possible_agents)
        self.players = len(self._names)
        channels = STACK + self.players
        self.observation_space = spaces.Box(0, 255, (channels, SIZE, SIZE), np.uint8)
        self.action_space = self._game.action_space(self._names[0])
        self.max_steps: int = self._game.unwrapped.max_cycles // SKIP
        self._stack = np.zeros((STACK, SIZE, SIZE), np.uint8)
        self._planes = np.zeros((self.players, self.players, SIZE, SIZE), np.uint8)
        self._planes[range(self.players), range(self.players)] = BRIGHT

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        seen, _ = self._game.reset(seed=seed)
        screen = _blue(seen, self._names)
        self._stack[:] = _picture(screen, screen)
        return self._observe(), {}

    def step(self, action: Array) -> tuple[Array, Any, Any, Any, dict[str, Any]]:
        """Play the actions of all players, which may be fewer frames where the game ends."""
        actions = dict(zip(self._names, action.tolist(), strict=True))
        points = np.zeros(self.players, np.float32)
        over, cut = np.zeros((2, self.players), np.bool_)
        screens: list[Array] = []
        for _ in range(SKIP):
            seen, rewards, terminated, truncated, _ = self._game.step(actions)
            screens.append(_blue(seen, self._names))
            points += [rewards.get(name, 0) for name in self._names]
            over |= [terminated.get(name, False) for name in self._names]
            cut |= [truncated.get(name, False) for name in self._names]
            if over.any() or cut.any():
                cut = ~over
                break
        self._stack[:-1] = self._stack[1:]
        self._stack[-1] = _picture(screens[-1], screens[-2] if len(screens) > 1 else screens[-1])
        return self._observe(), points, over, cut, {}

    def render(self) -> Any:
        return self._game.render()

    def close(self) -> None:
        self._game.close()

    def _observe(self) -> Array:
        frames = np.broadcast_to(self._stack, (self.players, *self._stack.shape))
        return np.concatenate((frames, self._planes), 1)


def _blue(seen: dict[Any, Array], names: list[Any]) -> Array:
    """Return the blue channel of the screen, which all players share."""
    screen: Array = next(seen[name] for name in names if name in seen)
    return screen[..., BLUE]


def _picture(screen: Array, before: Array) -> Array:
    import cv2

    pooled = np.maximum(screen, before)
    picture: Array = cv2.resize(pooled, (SIZE, SIZE), interpolation=cv2.INTER_AREA)
    return picture


def count_players(env: ResolvedEnv, num_envs: int) -> int:
    """Return the players of one game, of which `num_envs` have to be a multiple."""
    game = PlayersGame(env.id)
    game.close()
    _check_players(num_envs, game.players, env.id)
    return game.players


def _check_players(num_envs: int, players: int, env_id: str) -> None:
    if num_envs % players:
        below = num_envs - num_envs % players
        near = [below, below + players] if below else [players]
        raise ConfigError(
            f"num_envs={num_envs} does not fill games of {players}: it counts the players of "
            f"env_id={env_id!r}. Use {' or '.join(map(str, near))}."
        )


class PlayerEnvs:
    """A batch of games, whose rows are their players: game by game, player by player."""

    def __init__(
        self,
        env: ResolvedEnv,
        num_envs: int,
        make_game: Callable[[int], gym.Env[Any, Any]] | None = None,
    ) -> None:
        self._make = make_game or (lambda index: PlayersGame(env.id))
        self._games = [self._make(0)]
        first = self._games[0].unwrapped
        assert isinstance(first, PlayersGame)
        self._players = first.players
        _check_players(num_envs, self._players, env.id)
        self.num_envs = num_envs
        assert isinstance(first.observation_space, spaces.Box)
        self.observation_space: spaces.Box = first.observation_space
        self.action_space = first.action_space
        self.max_episode_steps: int | None = first.max_steps
        self._games += [self._make(index) for index in range(1, num_envs // self._players)]
        self._scores = np.zeros(num_envs, np.float64)
        self._lengths = np.zeros(num_envs, np.int64)

    def reset(self, seed: int) -> Array:
        self._scores[:], self._lengths[:] = 0.0, 0
        first = [game.reset(seed=seed + index)[0] for index, game in enumerate(self._games)]
        return np.concatenate(first)

    def step(self, actions: Array) -> Step:
        rows = actions.reshape(len(self._games), self._players)
        parts = [game.step(row) for game, row in zip(self._games, rows, strict=True)]
        next_obs, points, terminated, truncated = (
            np.concatenate([part[column] for part in parts]) for column in range(4)
        )
        self._scores += points
        self._lengths += 1
        ended = (terminated | truncated).nonzero()[0]
        rewards = np.sign(points)
        if not len(ended):
            return Step(next_obs, rewards, terminated, truncated, next_obs, ())
        episodes = self._finish(ended)
        obs = self._begin(next_obs, np.unique(ended // self._players).tolist())
        return Step(obs, rewards, terminated, truncated, next_obs, episodes)

    def _begin(self, next_obs: Array, games: list[int]) -> Array:
        obs = next_obs.copy()
        for game in games:
            first = game * self._players
            obs[first : first + self._players] = self._games[game].reset()[0]
        return obs

    def _finish(self, ended: Array) -> list[Episode]:
        episodes = [
            Episode(row, float(self._scores[row]), int(self._lengths[row]), row % self._players)
            for row in ended.tolist()
        ]
        self._scores[ended], self._lengths[ended] = 0.0, 0
        return episodes

    def picture(self, index: int, max_dim: int) -> Array:
        """Show the screen, which all players of a game share."""
        game = self._games[index // self._players].unwrapped
        assert isinstance(game, PlayersGame)
        return shrink(game.render(), max_dim)

    def rebuild(self) -> None:
        self.close()
        self._games = [self._make(index) for index in range(len(self._games))]

    def close(self) -> None:
        for game in self._games:
            game.close()
