"""An Atari game that ends soon: cuts come after two of the longest games, and those take hours."""

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
