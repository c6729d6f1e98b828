"""Procgen's sixteen games (Cobbe et al. 2020), which envpool has: every episode is another level.

`starpilot`, as CleanRL's users write it, is envpool's `StarpilotEasy-v0`: easy levels, as many as
there are. Each game has a seed of its own, which it takes when it is made; so a game here and one
in a pool of several are the same. What ends after so many steps is truncated.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from cleanrl_worker.envs.observations import Array
from cleanrl_worker.envs.pictures import enlarge
from cleanrl_worker.envs.pooled import LARGEST_SEED, PooledEnvs, check_envpool
from cleanrl_worker.envs.registry import PROCGEN, ResolvedEnv
from cleanrl_worker.envs.vector import Step
from mosaic.catalog.families import FAMILIES
from mosaic.contracts.errors import DependencyMissing

SCENE = (3, 64, 64)  # colours, rows, columns
ACTIONS = 15
PICTURE_DIM = 256  # of a video or a picture on demand: four pixels a side for each that is seen


class Levels(NamedTuple):
    """The longest episode of a game, and the kinds of levels that it has."""

    max_steps: int
    kinds: tuple[str, ...]


GAMES = {
    "bigfish": Levels(6000, ("Easy", "Hard")),
    "bossfight": Levels(4000, ("Easy", "Hard")),
    "caveflyer": Levels(1000, ("Easy", "Hard", "Memory", "Exploration")),
    "chaser": Levels(1000, ("Easy", "Hard", "Extreme")),
    "climber": Levels(1000, ("Easy", "Hard", "Exploration")),
    "coinrun": Levels(1000, ("Easy", "Hard", "Exploration")),
    "dodgeball": Levels(1000, ("Easy", "Hard", "Extreme", "Memory")),
    "fruitbot": Levels(1000, ("Easy", "Hard")),
    "heist": Levels(1000, ("Easy", "Hard", "Memory", "Exploration")),
    "jumper": Levels(1000, ("Easy", "Hard", "Memory", "Exploration")),
    "leaper": Levels(500, ("Easy", "Hard", "Extreme", "Exploration")),
    "maze": Levels(500, ("Easy", "Hard", "Memory", "Exploration")),
    "miner": Levels(1000, ("Easy", "Hard", "Memory")),
    "ninja": Levels(1000, ("Easy", "Hard", "Exploration")),
    "plunder": Levels(4000, ("Easy", "Hard")),
    "starpilot": Levels(1000, ("Easy", "Hard", "Extreme")),
}


def _register(env_id: str, task: str, max_steps: int) -> None:
    gym.register(
        env_id, f"{__name__}:ProcgenGame", kwargs={"task": task}, max_episode_steps=max_steps
    )


for _name, _levels in GAMES.items():
    for _kind in _levels.kinds:
        _task = f"{_name.capitalize()}{_kind}-v0"
        _register(_task, _task, _levels.max_steps)
    _register(_name, f"{_name.capitalize()}Easy-v0", _levels.max_steps)


def check_procgen() -> None:
    """Refuse to go on where envpool, or what it needs of Qt for these games, is not there."""
    check_envpool()
    try:
        # Without Qt the module is there, and empty.
        from envpool.procgen import ProcgenEnvSpec  # noqa: F401
    except ImportError as error:
        reason = error.__cause__ or error  # the loader's own words, not envpool's advice
        raise DependencyMissing(
            f"Procgen's games need libraries of Qt 5, which the system lacks: {reason}.",
            hint=f"Install them with: apt-get install {' '.join(FAMILIES[PROCGEN.name].apt)}",
        ) from None


def open_pool(task: str, seeds: list[int], threads: int) -> Any:
    """Make a pool of one game; each seed decides on the levels of its own environment."""
    import envpool

    return envpool.make(
        task,
        env_type="gymnasium",
        num_envs=len(seeds),
        num_threads=min(len(seeds), threads),
        env_seed=[seed % LARGEST_SEED for seed in seeds],
    )


class ProcgenGame(gym.Env[Array, Any]):
    """One game: a pool of one, made when a seed is given. It draws what the agent sees."""

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 15}  # noqa: RUF012

    def __init__(self, task: str, render_mode: str | None = None) -> None:
        check_procgen()
        self.task = task
        self.render_mode = render_mode
        self.observation_space = spaces.Box(0, 255, SCENE, np.uint8)
        self.action_space = spaces.Discrete(ACTIONS)
        self._pool: Any = None
        self._scene: Array = np.zeros(SCENE, np.uint8)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        super().reset(seed=seed)
        if self._pool is None and seed is None:
            seed = int(self.np_random.integers(LARGEST_SEED))
        if seed is not None:
            self.close()
            self._pool = open_pool(self.task, [seed], 1)
        self._scene = self._pool.reset()[0][0]
        return self._scene, {}

    def step(self, action: Any) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        scenes, rewards, over, cut, _ = self._pool.step(np.array([action], np.int32))
        self._scene = scenes[0]
        return self._scene, float(rewards[0]), bool(over[0]), bool(cut[0]), {}

    def render(self) -> Any:
        return enlarge(self._scene.transpose(1, 2, 0), PICTURE_DIM)

    def close(self) -> None:
        if self._pool is not None:
            self._pool.close()
            self._pool = None


class PooledScenes(PooledEnvs):
    """Games in one pool; it shows what their agents see."""

    def __init__(self, env: ResolvedEnv, num_envs: int, threads: int | None = None) -> None:
        self._task: str = gym.spec(env.id).kwargs["task"]
        self._scenes: Array = np.zeros((num_envs, *SCENE), np.uint8)
        super().__init__(env, num_envs, threads)

    def check_available(self) -> None:
        check_procgen()

    def make_pool(self, seed: int) -> Any:
        seeds = [seed + index for index in range(self.num_envs)]
        return open_pool(self._task, seeds, self.threads)

    def reset(self, seed: int) -> Array:
        self._scenes = super().reset(seed)
        return self._scenes

    def step(self, actions: Array) -> Step:
        step = super().step(actions)
        self._scenes = step.obs
        return step

    def picture(self, index: int, max_dim: int) -> Array:
        """Show what the agent sees."""
        return enlarge(self._scenes[index].transpose(1, 2, 0), max_dim)
