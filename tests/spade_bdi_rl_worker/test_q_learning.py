"""Q-learning: it finds the best policy, and a learner that was saved goes on as it would have."""

from __future__ import annotations

import json
import statistics

from spade_bdi_rl_worker.q_learning import Config, Learner, Transition, play
from spade_bdi_rl_worker.worlds import load_world


def test_slippery_frozen_lake_is_learned() -> None:
    learner = Learner(load_world("FrozenLake-v1"), Config(), seed=1, total_steps=200_000)
    while learner.steps < learner.total_steps:
        learner.learn_episode()
    success = statistics.mean(play(learner, 10**6 + n)[0] for n in range(500))
    assert success >= 0.7, "the best policy gives 0.74"


def test_taxi_is_learned() -> None:
    config = Config(final_learning_rate=0.1, end_e=0.05)
    learner = Learner(load_world("Taxi-v4"), config, seed=1, total_steps=300_000)
    while learner.steps < learner.total_steps:
        learner.learn_episode()
    assert statistics.mean(play(learner, n)[0] for n in range(100)) > 6.0


def test_a_saved_learner_goes_on_as_if_nothing_had_happened() -> None:
    world = load_world("FrozenLake-v1")
    whole, first = (Learner(world, Config(), seed=3, total_steps=20_000) for _ in range(2))
    for _ in range(400):
        whole.learn_episode()
    for _ in range(150):
        first.learn_episode()
    second = Learner(world, Config(), seed=3, total_steps=20_000)
    second.restore(json.loads(json.dumps(first.to_json())))
    for _ in range(250):
        second.learn_episode()
    assert second.to_json() == whole.to_json()


def test_an_episode_can_be_played_again_from_its_seed_and_actions() -> None:
    world = load_world("FrozenLake-v1")
    learner = Learner(world, Config(), seed=5, total_steps=20_000)
    for number in range(20):
        seen: list[Transition] = []
        learner.learn_episode(seen.append)
        state, draws = world.begin(learner.episode_seed(number))
        for before, action, following, reward, is_end in seen:
            assert state == before
            state, *rest = world.step(state, action, draws)
            assert (state, *rest) == (following, reward, is_end)
