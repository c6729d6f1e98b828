"""What a CleanRL script's policy earns without exploration, after its own training.

    CLEANRL_PYTHON benchmarks/comparison/greedy.py CLEANRL/cleanrl/SCRIPT.py [the script's flags]

Run it with the interpreter that has CleanRL's packages: the script runs here, unchanged, and the
networks that it leaves in its namespace then play 40 episodes from seeds of their own. For scripts
with one action value each (`q_network`) or an actor (SAC's, TD3's, DDPG's).
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from statistics import mean
from typing import Any

import gymnasium as gym
import torch

EPISODES = 40
FIRST_SEED = 10_000


def main() -> None:
    script = Path(sys.argv[1]).resolve()
    sys.path.insert(0, str(script.parent.parent))  # where cleanrl_utils lies
    sys.argv = [str(script), *sys.argv[2:]]
    torch.set_num_threads(1)
    trained = runpy.run_path(str(script), run_name="__main__")
    args = trained["args"]
    env = gym.make(args.env_id)
    returns = [play(env, trained, FIRST_SEED + index) for index in range(EPISODES)]
    tens = ", ".join(f"{mean(returns[i : i + 10]):.0f}" for i in range(0, EPISODES, 10))
    print(f"{script.stem} seed {args.seed}: {mean(returns):.1f} in {EPISODES} episodes ({tens})")


def play(env: gym.Env[Any, Any], trained: dict[str, Any], seed: int) -> float:
    """Return what one episode of the best actions earns."""
    obs, _ = env.reset(seed=seed)
    total, is_over = 0.0, False
    while not is_over:
        obs, reward, terminated, truncated, _ = env.step(choose(trained, torch.tensor(obs)))
        total += float(reward)
        is_over = terminated or truncated
    return total


@torch.no_grad()
def choose(trained: dict[str, Any], obs: torch.Tensor) -> Any:
    rows = obs[None].float()
    if "actor" not in trained:
        return int(trained["q_network"](rows).argmax())
    actor = trained["actor"]
    # SAC's draws an action and returns the mean's as well; TD3's and DDPG's have only that.
    actions = actor.get_action(rows)[2] if hasattr(actor, "get_action") else actor(rows)
    return actions[0].numpy()


if __name__ == "__main__":
    main()
