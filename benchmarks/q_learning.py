"""Episodes a second of the BDI worker's Q-learning on FrozenLake, on one core.

python benchmarks/q_learning.py [--steps 1000000] [--rounds 3]

A whole training is timed: random at the start, the learned policy at the end, whose episodes are
four times as long. The bar is 4,200 episodes a second.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time

from spade_bdi_rl_worker.q_learning import Config, Learner, play
from spade_bdi_rl_worker.worlds import load_world

BAR = 4_200
EVALUATED = 1_000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    world = load_world("FrozenLake-v1")
    rates = []
    for seed in range(given.rounds):
        learner = Learner(world, Config(), seed, given.steps)
        started, began = time.perf_counter(), time.process_time()
        while learner.steps < given.steps:
            learner.learn_episode()
        took, processor = time.perf_counter() - started, time.process_time() - began
        rates.append(learner.episodes / took)
        success = statistics.mean(play(learner, 10**6 + n)[0] for n in range(EVALUATED))
        print(
            f"seed {seed}: {learner.episodes:,} episodes, {learner.steps:,} steps in {took:.2f} s "
            f"({processor:.2f} s of processor time): {rates[-1]:,.0f} episodes and "
            f"{learner.steps / took:,.0f} steps a second; success {success:.3f}"
        )
    print(f"median: {statistics.median(rates):,.0f} episodes a second, the bar is {BAR:,}")
    return 0 if statistics.median(rates) >= BAR else 1


if __name__ == "__main__":
    sys.exit(main())
