"""Phasic policy gradient against brute force: auxiliary losses, initial weights, what is stored."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium import spaces
from torch import nn

from cleanrl_worker.agents.impala import ConvSequence, ImpalaAgent
from cleanrl_worker.agents.inference import inference
from cleanrl_worker.agents.layout import SCENES
from cleanrl_worker.agents.phasic import PhasicAgent
from cleanrl_worker.algorithms import ppg, ppo
from cleanrl_worker.channel import Channel
from cleanrl_worker.distributions import distribution_for
from cleanrl_worker.envs.sync import SyncEnvs
from cleanrl_worker.eval_preparation import prepare_evaluation
from cleanrl_worker.optimisers import Adam
from cleanrl_worker.preparation import prepare
from cleanrl_worker.recipes import RECIPES
from cleanrl_worker.recording import Run
from mosaic.contracts.errors import ConfigError
from tests.learning import probes, training

SCENE_SPACE = spaces.Box(0, 255, SCENES, np.uint8)
NUMBERS = spaces.Box(-1.0, 1.0, (3,), np.float32)
SMALL: dict[str, Any] = {
    "num_envs": 2, "num_steps": 8, "num_minibatches": 2, "n_iteration": 3, "num_aux_rollouts": 2,
}  # fmt: skip


def row_norms(layer: nn.Linear | nn.Conv2d) -> list[float]:
    return [
        math.sqrt(sum(float(weight) ** 2 for weight in row.flatten())) for row in layer.weight.data
    ]


def test_the_weights_of_every_output_begin_with_the_authors_norms() -> None:
    torch.manual_seed(0)
    agent = PhasicAgent(SCENE_SPACE, 15)
    # Three sequences of two blocks, whose two convolutions share what a block may add.
    in_block = math.sqrt(1 / math.sqrt(3) / math.sqrt(2))
    wanted: list[tuple[nn.Module, float]] = [
        (agent.actor, 0.1), (agent.critic, 0.1), (agent.aux_critic, 0.1), (agent.network[5], 1.4),
    ]  # fmt: skip
    for number in range(3):
        sequence = agent.network[number]
        assert isinstance(sequence, ConvSequence)
        wanted.append((sequence.conv, 1.0))
        for block in (sequence.res_block0, sequence.res_block1):
            wanted += [(block.conv0, in_block), (block.conv1, in_block)]
    for layer, norm in wanted:
        assert isinstance(layer, nn.Linear | nn.Conv2d)
        assert row_norms(layer) == pytest.approx([norm] * len(layer.weight), rel=1e-5)
        assert layer.bias is not None
        assert not layer.bias.any()
    layers = [part for part in agent.modules() if isinstance(part, nn.Linear | nn.Conv2d)]
    assert len(layers) == len(wanted)


def test_both_networks_are_named_as_cleanrls() -> None:
    block = [f"res_block{b}.conv{c}" for b in range(2) for c in range(2)]
    encoder = [f"network.{n}.{part}" for n in range(3) for part in ("conv", *block)]
    shared = [*encoder, "network.5", "actor", "critic"]
    for agent, heads in ((ImpalaAgent(15), []), (PhasicAgent(SCENE_SPACE, 15), ["aux_critic"])):
        wanted = {f"{name}.{kind}" for name in shared + heads for kind in ("weight", "bias")}
        assert set(agent.state_dict()) == wanted


def test_scenes_are_scaled_and_every_layout_gives_the_same() -> None:
    torch.manual_seed(0)
    scenes = torch.randint(256, (3, *SCENES), dtype=torch.uint8)
    for agent in (ImpalaAgent(15), PhasicAgent(SCENE_SPACE, 15)):
        outputs, values = agent(scenes)
        features = agent.network(scenes.float() / 255)
        torch.testing.assert_close(outputs, agent.actor(features), rtol=1e-4, atol=1e-6)
        torch.testing.assert_close(values, agent.critic(features)[:, 0], rtol=1e-4, atol=1e-6)


def test_the_critic_does_not_reach_the_encoder_and_the_auxiliary_one_does() -> None:
    agent = PhasicAgent(NUMBERS, 4)
    obs = torch.randn(5, 3)
    agent(obs)[1].sum().backward()
    assert all(weights.grad is None for weights in agent.network.parameters())
    assert agent.critic.weight.grad is not None
    agent.with_auxiliary(obs)[2].sum().backward()
    assert all(weights.grad is not None for weights in agent.network.parameters())


def batch_of(rng: np.random.Generator, rows: int) -> ppg.Batch:
    def normal(*shape: int) -> torch.Tensor:
        return torch.from_numpy(rng.normal(size=shape).astype(np.float32))

    return ppg.Batch(normal(rows, 3), normal(rows), 3 * normal(rows, 4))


@pytest.mark.parametrize("seed", range(3))
def test_the_auxiliary_loss_is_the_weighted_sum_over_the_samples(seed: int) -> None:
    torch.manual_seed(seed)
    agent, batch = PhasicAgent(NUMBERS, 4), batch_of(np.random.default_rng(seed), 12)
    nn.init.normal_(agent.actor.weight)  # a policy far from uniform
    total, parts = ppg.auxiliary_loss(agent, batch, ppg.Config(beta_clone=0.7))

    outputs, values, auxiliary = (part.tolist() for part in agent.with_auxiliary(batch.obs))
    divergence = head = critic = 0.0
    for row in range(12):
        before, now = softmax(batch.outputs[row].tolist()), softmax(outputs[row])
        divergence += sum(p * math.log(p / q) for p, q in zip(before, now, strict=True)) / 12
        head += 0.5 * (auxiliary[row] - float(batch.returns[row])) ** 2 / 12
        critic += 0.5 * (values[row] - float(batch.returns[row])) ** 2 / 12
    assert divergence > 0.1
    assert float(parts["kl_loss"]) == pytest.approx(divergence, rel=1e-4)
    assert float(parts["aux_value_loss"]) == pytest.approx(head, rel=1e-4)
    assert float(parts["real_value_loss"]) == pytest.approx(critic, rel=1e-4)
    assert float(total.detach()) == pytest.approx(head + 0.7 * divergence + critic, rel=1e-4)


def softmax(numbers: list[float]) -> list[float]:
    powers = [math.exp(number) for number in numbers]
    return [power / sum(powers) for power in powers]


def test_a_policy_that_has_not_moved_has_no_divergence() -> None:
    agent, batch = PhasicAgent(NUMBERS, 4), batch_of(np.random.default_rng(0), 12)
    with torch.no_grad():
        batch = ppg.Batch(batch.obs, batch.returns, agent(batch.obs)[0])
    total, parts = ppg.auxiliary_loss(agent, batch, ppg.Config())
    total.backward()
    assert float(parts["kl_loss"]) == pytest.approx(0.0, abs=1e-6)
    assert agent.actor.weight.grad is not None
    assert agent.actor.weight.grad.abs().max() < 1e-6


def kept_phase() -> tuple[ppg.Config, PhasicAgent, ppg.Phase, list[ppo.Rollout]]:
    """Return a phase that has taken in three rollouts."""
    torch.manual_seed(0)
    config, rng = ppg.Config(**SMALL), np.random.default_rng(0)
    envs = SyncEnvs(lambda _: probes.SignReward(), 2, env_id="SignReward")
    distribution = distribution_for(envs.action_space)
    phase = ppg.Phase.allocate(config, envs, distribution)
    rollouts = []
    for iteration in range(3):
        rollout = ppo.Rollout.allocate(config, envs, distribution)
        rollout.obs[:] = rng.normal(size=rollout.obs.shape)
        rollout.rewards[:] = rng.normal(size=rollout.rewards.shape)
        phase.keep(iteration, rollout, torch.from_numpy(rollout.rewards.reshape(-1)))
        rollouts.append(rollout)
    return config, ppg.build(config, envs), phase, rollouts


def test_a_phase_keeps_every_sample_by_environment() -> None:
    _, agent, phase, rollouts = kept_phase()
    phase.ask(inference(agent, training.CPU), np.array([1, 4]))
    batch = phase.rows(np.array([4, 1]), training.CPU)  # the third and first iteration's
    expected = [(rollouts[2], 0), (rollouts[0], 1)]
    for number, (rollout, env) in enumerate(expected):
        rows = slice(8 * number, 8 * number + 8)
        assert np.array_equal(batch.obs[rows], rollout.obs[:, env])
        assert np.array_equal(batch.returns[rows], rollout.rewards[:, env])
    torch.testing.assert_close(batch.outputs, agent(batch.obs)[0].detach())
    assert not phase.outputs[[0, 2, 3, 5]].any()


@pytest.mark.parametrize(("accumulated", "steps"), [(1, 3), (2, 2), (3, 1), (9, 1)])
def test_gradients_of_minibatches_are_averaged_into_steps(accumulated: int, steps: int) -> None:
    config, agent, phase, _ = kept_phase()
    config = ppg.Config(**SMALL, n_aux_grad_accum=accumulated, e_auxiliary=1, max_grad_norm=1e9)
    taken: list[torch.Tensor] = []

    class Noting(Adam):
        def step(self) -> None:
            taken.append(self.gradients.clone())

    optimizer = Noting(agent.parameters(), 1e-3)
    optimizer.gradients.fill_(5.0)  # left over from a policy phase
    run = Run(total_timesteps=48, seed=1, channel=Channel(None))
    learn = partial(ppg.add_gradients, agent, run.compiled, config)
    losses = ppg.auxiliary_phase(run, config, agent, optimizer, learn, phase, training.CPU)

    assert set(losses) == {
        f"losses/aux/{name}" for name in ("kl_loss", "aux_value_loss", "real_value_loss")
    }
    assert len(taken) == steps
    if steps == 1:  # the weights have not moved: it is the gradient over all samples
        optimizer.zero_grad()
        whole = phase.rows(np.arange(6), training.CPU)
        ppg.auxiliary_loss(agent, whole, config)[0].backward()
        torch.testing.assert_close(taken[0], optimizer.gradients, rtol=1e-4, atol=1e-6)


def trained_rates(**changes: Any) -> list[float]:
    rates: list[float] = []

    class Noting(Run):
        def log_update(self, values: Any) -> None:
            rates.append(values["charts/learning_rate"])

    config = ppg.Config(**SMALL | changes)
    envs = SyncEnvs(lambda _: probes.SignReward(), 2, env_id="SignReward")
    run = Noting(total_timesteps=2 * 48 + 40, seed=1, channel=Channel(None))
    ppg.train(run, config, envs, ppg.build(config, envs), training.CPU)
    assert run.step == 2 * 48, "two whole phases"
    return rates


def test_the_learning_rate_falls_over_all_updates_of_all_phases() -> None:
    falling = trained_rates(learning_rate=0.6, anneal_lr=True)
    assert falling == pytest.approx([0.6, 0.5, 0.4, 0.3, 0.2, 0.1])
    assert trained_rates(learning_rate=0.6, anneal_lr=False) == pytest.approx([0.6] * 6)


@pytest.mark.parametrize("is_normalised", [True, False])
def test_advantages_are_normalised_over_a_whole_rollout(
    is_normalised: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[tuple[torch.Tensor, ppo.Config]] = []

    def update(run: Any, learn: Any, batch: Any, config: Any) -> dict[str, float]:
        given.append((batch.advantages, config))
        return ppo.update(run, learn, batch, config)

    monkeypatch.setattr(ppg, "update", update)
    trained_rates(adv_norm_fullbatch=is_normalised, e_policy=2)
    for advantages, config in given:
        assert (config.norm_adv, config.update_epochs) == (False, 2)
        moments = (float(advantages.mean()), float(advantages.std()))
        assert (moments == pytest.approx((0.0, 1.0), abs=1e-4)) is is_normalised


def test_less_than_a_phase_is_refused() -> None:
    with pytest.raises(ConfigError) as refused:
        ppg.Config(**SMALL).check(47)
    assert refused.value.one_line() == (
        "total_timesteps=47 is smaller than one phase of 48 steps (3 iterations x 16 steps). "
        "Use at least 48, or a smaller n_iteration."
    )
    ppg.Config(**SMALL).check(48)


class _Games:
    observation_space = SCENE_SPACE
    action_space = gym.spaces.Discrete(15)


def test_what_it_stores_is_said_before_the_start() -> None:
    recipe = RECIPES["ppg_procgen"]
    config = ppg.Config(num_envs=64, num_steps=256, n_iteration=32)
    assert recipe.overrides["num_envs"] * recipe.overrides["num_steps"] == config.batch_size
    stored = ppg.storage_bytes(config, _Games())  # type: ignore[arg-type]
    phase = 2048 * 256 * (3 * 64 * 64 + 4 + 4 * 15)
    assert stored == phase + ppo.storage_bytes(config, _Games())  # type: ignore[arg-type]
    assert 6.4e9 < stored < 7e9


@pytest.mark.needs_system("qt5")
def test_too_large_a_phase_is_refused() -> None:
    pytest.importorskip("envpool")
    with pytest.raises(ConfigError, match="GB of experience"):
        prepare(
            "ppg_procgen", ["--n-iteration=100000", "--total-timesteps=9000000000", "--dry-run"]
        )


@pytest.mark.needs_system("qt5")
def test_cleanrls_policy_plays_though_it_holds_no_scale_of_rewards(tmp_path: Path) -> None:
    pytest.importorskip("envpool")
    for name, agent in (
        ("ppo_procgen", ImpalaAgent(15)),
        ("ppg_procgen", PhasicAgent(SCENE_SPACE, 15)),
    ):
        path = tmp_path / f"{name}.cleanrl_model"
        torch.save(agent.state_dict(), path)
        flags = [f"--policy-path={path}", "--env-id=starpilot", "--dry-run"]
        prepared = prepare_evaluation(name, flags)
        assert prepared.warnings == ()
        scene = prepared.stage.begin(0, 1)
        assert np.array_equal(prepared.policy.choose(scene, None), best_actions(agent, scene))
        prepared.stage.close()


def best_actions(agent: nn.Module, scene: np.ndarray) -> np.ndarray:
    found: np.ndarray = agent(torch.from_numpy(scene))[0].argmax(-1).numpy()
    return found
