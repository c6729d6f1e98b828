"""Games that end soon: cuts come after two of the longest games, and those take hours."""

import importlib.machinery
import sys
import types
from typing import Any

import ale_py
import gymnasium as gym

SHORT_GAME = "ShortBreakout-v0"
STEPS = 40

gym.register_envs(ale_py)
_breakout = gym.registry["BreakoutNoFrameskip-v4"]
gym.register(
    SHORT_GAME,
    _breakout.entry_point,
    kwargs={**_breakout.kwargs, "max_num_frames_per_episode": 4 * STEPS},
)

SHORT_SCENES = "ShortMaze-v0"
gym.register(
    SHORT_SCENES,
    "cleanrl_worker.envs.procgen:ProcgenGame",
    kwargs={"task": "MazeEasy-v0"},
    max_episode_steps=STEPS,
)


def _parallel_env(auto_rom_install_path: str, **options: Any) -> Any:
    from cleanrl_worker.envs.players import load_game

    return load_game("pong_v3", max_cycles=4 * STEPS, **options)


# PettingZoo's name of a game is that of a module.
SHORT_PONG = "short_pong_v0"
_module = types.ModuleType(f"pettingzoo.atari.{SHORT_PONG}")
_module.__spec__ = importlib.machinery.ModuleSpec(_module.__name__, None)
_module.parallel_env = _parallel_env  # type: ignore[attr-defined]
sys.modules[_module.__name__] = _module
