"""Curiosity's estimators against brute force, and what its networks see."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from gymnasium import spaces

from cleanrl_worker.agents.distillation import (
    CLIP,
    Distillation,
    TwoValuesAgent,
    seen_part,
    seen_shape,
)
from cleanrl_worker.algorithms import ppo_rnd
from cleanrl_worker.curiosity import CuriosityScales
from cleanrl_worker.distributions import distribution_for

PICTURES = spaces.Box(0, 255, (4, 84, 84), np.uint8)
NUMBERS = spaces.Box(-1.0, 1.0, (3,), np.float32)
GAMMA = 0.9


def discounted_sums(rewards: np.ndarray, gamma: float) -> np.ndarray:
    """Sum, for every step of every environment, all rewards up to it, the older the less."""
    sums = np.zeros(rewards.shape)
    steps, envs = rewards.shape
    for env in range(envs):
        for t in range(steps):
            for earlier in range(t + 1):
                sums[t, env] += gamma ** (t - earlier) * rewards[earlier, env]
    return sums


@pytest.mark.parametrize("seed", range(5))
def test_intrinsic_rewards_are_divided_by_the_spread_of_their_discounted_sums(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rewards = rng.exponential(rng.uniform(0.1, 9.0), (40, 3)).astype(np.float32)
    scales = CuriosityScales((3,), 3, GAMMA)
    found = [scales.normalised(rewards[:25]), scales.normalised(rewards[25:])]

    sums = discounted_sums(rewards, GAMMA)
    for part, start, stop in ((found[0], 0, 25), (found[1], 25, 40)):
        np.testing.assert_allclose(part, rewards[start:stop] / sums[:stop].std(), rtol=1e-3)


def test_the_scales_go_on_from_a_checkpoint() -> None:
    rng = np.random.default_rng(1)
    rewards, seen = rng.random((10, 2)), rng.random((2, 3))
    whole, rest = CuriosityScales((3,), 2, GAMMA), CuriosityScales((3,), 2, GAMMA)
    whole.normalised(rewards)
    whole.look(seen)
    rest.load_state_dict({key: np.array(item) for key, item in whole.state_dict().items()})
    assert np.array_equal(whole.normalised(rewards), rest.normalised(rewards))
    assert np.array_equal(whole.of_seen()[0], rest.of_seen()[0])


def rollout_of(rng: np.random.Generator, steps: int, envs: int) -> ppo_rnd.Rollout:
    shape = (steps, envs)
    return ppo_rnd.Rollout(
        obs=rng.normal(size=(*shape, 3)).astype(np.float32),
        seen=rng.normal(size=(*shape, 3)).astype(np.float32),
        actions=rng.integers(2, size=shape),
        outputs=rng.normal(size=(*shape, 2)).astype(np.float32),
        rewards=rng.normal(size=shape).astype(np.float32),
        novelty=rng.random(shape).astype(np.float32),
        ends=rng.random(shape) < 0.2,
        values=rng.normal(size=(*shape, 2)).astype(np.float32),
    )


def temporal_differences(
    rewards: np.ndarray,
    values: np.ndarray,
    ends: np.ndarray | None,
    last: np.ndarray,
    gamma: float,
    gae_lambda: float,
) -> np.ndarray:
    """Sum the discounted temporal differences of all later steps, up to an end that counts."""
    steps, envs = rewards.shape
    advantages = np.zeros(rewards.shape)
    for env in range(envs):
        for start in range(steps):
            for t in range(start, steps):
                is_end = ends is not None and ends[t, env]
                after = values[t + 1, env] if t + 1 < steps else last[env]
                delta = rewards[t, env] + gamma * after * (not is_end) - values[t, env]
                advantages[start, env] += (gamma * gae_lambda) ** (t - start) * delta
                if is_end:
                    break
    return advantages


@pytest.mark.parametrize("seed", range(5))
def test_intrinsic_returns_go_on_where_extrinsic_ones_end(seed: int) -> None:
    rng = np.random.default_rng(seed)
    config = ppo_rnd.Config(gamma=0.97, int_gamma=0.8, int_coef=1.5, ext_coef=0.5)
    rollout = rollout_of(rng, 20, 3)
    last = rng.normal(size=(3, 2)).astype(np.float32)
    assert rollout.ends.any()

    advantages, returns = ppo_rnd.estimate(rollout, rollout.novelty, last, config)

    extrinsic, intrinsic = (
        temporal_differences(
            rewards, rollout.values[..., head], ends, last[:, head], gamma, config.gae_lambda
        )
        for head, (rewards, ends, gamma) in enumerate(
            ((rollout.rewards, rollout.ends, 0.97), (rollout.novelty, None, 0.8))
        )
    )
    np.testing.assert_allclose(advantages, 0.5 * extrinsic + 1.5 * intrinsic, atol=2e-5)
    expected = np.stack((extrinsic, intrinsic), -1) + rollout.values
    np.testing.assert_allclose(returns, expected, atol=2e-5)


def test_what_is_seen_is_brought_to_one_scale_and_clipped() -> None:
    torch.manual_seed(0)
    distillation = Distillation(NUMBERS)
    distillation.set_scale(np.array([1.0, 2.0, 3.0]), np.array([0.5, 1.0, 2.0]))
    rows = torch.tensor([[1.5, 0.0, 5.0], [1.0, 2.0, 1e6]])
    scaled = torch.tensor([[1.0, -2.0, 1.0], [0.0, 0.0, CLIP]])

    expected = (distillation.predictor(scaled) - distillation.target(scaled)).square()
    assert torch.allclose(distillation(rows), expected, atol=1e-6)
    halved = ppo_rnd.judge(distillation, torch.device("cpu"))(rows.numpy())
    np.testing.assert_allclose(halved, 0.5 * expected.sum(-1).detach().numpy(), rtol=1e-5)


def test_the_last_picture_of_a_stack_is_seen() -> None:
    stacks = np.arange(2 * 4, dtype=np.uint8).reshape(2, 4, 1, 1) * np.ones((84, 84), np.uint8)
    seen = seen_part(stacks, seen_shape(PICTURES))
    assert seen.shape == (2, 1, 84, 84)
    assert seen[:, 0, 0, 0].tolist() == [3, 7]
    assert Distillation(PICTURES)(torch.from_numpy(seen)).shape == (2, 512)
    assert TwoValuesAgent(PICTURES, 5)(torch.from_numpy(stacks))[1].shape == (2, 2)


def minibatch_of(rng: np.random.Generator, rows: int) -> ppo_rnd.Batch:
    def normal(*shape: int) -> torch.Tensor:
        return torch.from_numpy(rng.normal(size=shape).astype(np.float32))

    return ppo_rnd.Batch(
        obs=normal(rows, 3),
        seen=normal(rows, 3),
        actions=torch.from_numpy(rng.integers(2, size=rows)),
        log_probs=-normal(rows).abs(),
        advantages=normal(rows),
        returns=normal(rows, 2),
        values=normal(rows, 2),
        is_taught=torch.from_numpy(rng.random(rows) < 0.5),
    )


def test_the_loss_is_the_weighted_sum_over_the_samples() -> None:
    torch.manual_seed(0)
    config = ppo_rnd.Config(norm_adv=False, clip_coef=0.1, ent_coef=0.02, vf_coef=0.7)
    batch = minibatch_of(np.random.default_rng(0), 12)
    distribution = distribution_for(spaces.Discrete(2))
    agent, distillation = TwoValuesAgent(NUMBERS, 2), Distillation(NUMBERS)
    total, parts = ppo_rnd.loss(agent, distillation, distribution, batch, config)

    outputs, values = (tensor.detach().double() for tensor in agent(batch.obs))
    errors = distillation(batch.seen).detach().double()
    surrogate, squares, entropy = 0.0, 0.0, 0.0
    for row in range(12):
        log_probs = outputs[row].log_softmax(0)
        ratio = float((log_probs[batch.actions[row]] - batch.log_probs[row]).exp())
        advantage = float(batch.advantages[row])
        surrogate -= min(advantage * ratio, advantage * min(max(ratio, 0.9), 1.1))
        (new_ext, new_int), (old, _) = values[row].tolist(), batch.values[row].tolist()
        return_ext, return_int = batch.returns[row].tolist()
        near = old + min(max(new_ext - old, -0.1), 0.1)
        squares += max((new_ext - return_ext) ** 2, (near - return_ext) ** 2)
        squares += (new_int - return_int) ** 2
        entropy -= float((log_probs.exp() * log_probs).sum())
    taught = [float(errors[row].mean()) for row in range(12) if batch.is_taught[row]]
    forward = sum(taught) / len(taught)
    expected = surrogate / 12 - 0.02 * entropy / 12 + 0.7 * 0.5 * squares / 12 + forward
    assert float(total.detach()) == pytest.approx(expected, rel=1e-4)
    assert float(parts["fwd_loss"]) == pytest.approx(forward, rel=1e-4)

    total.backward()
    assert all(weights.grad is None for weights in distillation.target.parameters())
    assert all(weights.grad is not None for weights in distillation.predictor.parameters())


def test_without_a_sample_to_learn_from_the_predictor_stays() -> None:
    batch = minibatch_of(np.random.default_rng(0), 4)
    nobody = batch.rows(torch.arange(4), torch.zeros(4, dtype=torch.bool))
    distillation, distribution = Distillation(NUMBERS), distribution_for(spaces.Discrete(2))
    agent = TwoValuesAgent(NUMBERS, 2)
    _, parts = ppo_rnd.loss(agent, distillation, distribution, nobody, ppo_rnd.Config())
    assert float(parts["fwd_loss"]) == 0.0
