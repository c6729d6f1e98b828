"""PPO on the game of catching, in this process: `python -m tests.learning.catching ppo_jax 1`.

The recipes of PPO in JAX play Atari's games only, which they step inside their program. Here the
program steps a batch of the host's, as it does with ale-py's; so does the twin in torch.
"""

from __future__ import annotations

import importlib
import sys

import numpy as np

from cleanrl_worker.envs.sync import SyncEnvs
from tests.learning.catch_game import Catch
from tests.learning.training import Trained, train

STEPS, EPISODES = 40_960, 200
SETTINGS = {
    "num_envs": 16,
    "num_steps": 32,
    "learning_rate": 0.001,
    "clip_coef": 0.2,
}
OWN = {"ppo": {}, "ppo_jax": {"scan": True}}


def main(name: str, seed: int) -> None:
    np.random.seed(seed)
    algorithm = importlib.import_module(f"cleanrl_worker.algorithms.{name}")
    print(play(train(algorithm, Catch, seed, STEPS, **SETTINGS, **OWN[name])))


def play(trained: Trained) -> float:
    """Return the mean of greedy episodes."""
    envs = SyncEnvs(lambda index: Catch(), 8, env_id="Catch")
    obs, earned = envs.reset(seed=1), []
    while len(earned) < EPISODES:
        step = envs.step(trained.choose(obs, None))
        obs = step.obs
        earned += [episode.total_reward for episode in step.episodes]
    return float(np.mean(earned))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
