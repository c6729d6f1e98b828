"""The JAX algorithms compute the losses and gradients of their torch twins.

Both get the same weights and the same batch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import jax
import numpy as np
import pytest
import torch
from torch import nn

from cleanrl_worker import returns
from cleanrl_worker.agents.build import build_categorical_q_network, build_q_network
from cleanrl_worker.agents.flax_actors import ActorAndCritics, Bounds
from cleanrl_worker.agents.flax_impala import ImpalaNetwork
from cleanrl_worker.agents.flax_networks import PICTURES, value_network
from cleanrl_worker.agents.flax_networks import NatureAgent as FlaxNatureAgent
from cleanrl_worker.agents.impala import ImpalaQNetwork
from cleanrl_worker.agents.nature import NatureAgent
from cleanrl_worker.algorithms import (
    c51,
    c51_jax,
    ddpg,
    ddpg_jax,
    dqn,
    dqn_jax,
    ppo,
    ppo_jax,
    qdagger,
    qdagger_jax,
    td3,
    td3_jax,
)
from cleanrl_worker.distributions import distribution_for
from cleanrl_worker.on_device import advantages
from cleanrl_worker.on_device.distributions import project_onto_atoms
from cleanrl_worker.on_device.ring import Samples
from cleanrl_worker.replay.buffer import Transitions
from tests.cleanrl_worker.flax_twins import layers, transitions

TOLERANCE = 1e-5
SIZE = 16
ACTIONS = gym.spaces.Discrete(4)
FLAT = gym.spaces.Box(-1.0, 1.0, (6,), np.float32)
GAMES = gym.spaces.Box(0, 255, PICTURES, np.uint8)
TORQUES = gym.spaces.Box(np.float32([-2.0, -1.0]), np.float32([2.0, 3.0]))
OBSERVATIONS = pytest.mark.parametrize("space", [FLAT, GAMES], ids=["flat", "pictures"])


@pytest.fixture
def generator() -> torch.Generator:
    torch.manual_seed(3)
    return torch.Generator().manual_seed(5)


def observations(space: gym.spaces.Box, generator: torch.Generator) -> torch.Tensor:
    if space.dtype == np.uint8:
        return torch.randint(0, 256, (SIZE, *space.shape), generator=generator, dtype=torch.uint8)
    return torch.randn((SIZE, *space.shape), generator=generator)


def discrete_batch(space: gym.spaces.Box, generator: torch.Generator) -> dict[str, torch.Tensor]:
    actions = torch.randint(0, int(ACTIONS.n), (SIZE,), generator=generator)
    pair = observations(space, generator), observations(space, generator)
    return transitions(*pair, actions, generator)


def continuous_batch(generator: torch.Generator) -> dict[str, torch.Tensor]:
    actions = torch.rand((SIZE, 2), generator=generator) * 2 - 1
    pair = observations(FLAT, generator), observations(FLAT, generator)
    return transitions(*pair, actions, generator)


def in_jax(batch: dict[str, torch.Tensor]) -> Samples:
    return Samples(**{name: tensor.numpy() for name, tensor in batch.items()})


def gradients_of(loss: Callable[[Any], Any], *, has_aux: bool = False) -> Any:
    """Return loss and gradients as one compiled program: one by one, operations take minutes."""
    return jax.jit(jax.value_and_grad(loss, has_aux=has_aux))


def assert_same_gradients(network: nn.Module, gradients: Any) -> None:
    """Compare what a backward pass left in torch's layers with a tree in flax's form."""
    for parameter in network.parameters():
        assert parameter.grad is not None
        parameter.data = parameter.grad
    expected = layers(network)
    assert expected.keys() == gradients.keys()
    for name, found in gradients.items():
        for part, array in found.items():
            np.testing.assert_allclose(array, expected[name][part], atol=TOLERANCE)


@OBSERVATIONS
def test_dqn(space: gym.spaces.Box, generator: torch.Generator) -> None:
    agent, target = build_q_network(space, ACTIONS), build_q_network(space, ACTIONS)
    batch = discrete_batch(space, generator)
    expected, values = dqn.loss(agent, target, Transitions(**batch), 0.9)
    expected.backward()

    network = value_network(space.shape, int(ACTIONS.n))
    weights, slow = ({"params": layers(twin)} for twin in (agent, target))
    (found, found_values), gradients = gradients_of(
        lambda weights: dqn_jax.loss(network, weights, slow, in_jax(batch), 0.9), has_aux=True
    )(weights)

    assert float(found) == pytest.approx(expected.item(), abs=TOLERANCE)
    np.testing.assert_allclose(found_values, values.detach(), atol=TOLERANCE)
    assert_same_gradients(agent, gradients["params"])


@pytest.mark.slow  # its program takes long to compile
def test_qdagger(generator: torch.Generator) -> None:
    actions = int(ACTIONS.n)
    agent, target = ImpalaQNetwork(actions), ImpalaQNetwork(actions)
    teacher = build_q_network(GAMES, ACTIONS)
    batch = discrete_batch(GAMES, generator)
    td_loss, distill_loss, values = qdagger.loss(
        agent, target, teacher, Transitions(**batch), 0.9, 0.1
    )
    (td_loss + 0.7 * distill_loss).backward()

    weights, slow, lesson = ({"params": layers(twin)} for twin in (agent, target, teacher))
    config = qdagger_jax.Config(gamma=0.9, temperature=0.1)
    taught = qdagger_jax.Taught(ImpalaNetwork(actions), value_network(PICTURES, actions), lesson)

    def loss(weights: Any) -> Any:
        parts = qdagger_jax.loss(taught, config, weights, slow, in_jax(batch))
        return parts[0] + 0.7 * parts[1], parts

    (_, found), gradients = gradients_of(loss, has_aux=True)(weights)

    assert float(found[0]) == pytest.approx(td_loss.item(), abs=TOLERANCE)
    assert float(found[1]) == pytest.approx(distill_loss.item(), abs=TOLERANCE)
    np.testing.assert_allclose(found[2], values.detach(), atol=TOLERANCE)
    assert_same_gradients(agent, gradients["params"])


@OBSERVATIONS
def test_c51(space: gym.spaces.Box, generator: torch.Generator) -> None:
    config = c51_jax.Config(n_atoms=21, v_min=-3.0, v_max=3.0)
    agent, target = (
        build_categorical_q_network(space, ACTIONS, config.n_atoms, config.v_min, config.v_max)
        for _ in range(2)
    )
    batch = discrete_batch(space, generator)
    expected, values = c51.loss(agent, target, Transitions(**batch), 0.9)
    expected.backward()

    network = c51_jax.distribution_network(config, space.shape, int(ACTIONS.n))
    weights, slow = ({"params": {"network": layers(twin)}} for twin in (agent, target))
    (found, found_values), gradients = gradients_of(
        lambda weights: c51_jax.loss(network, weights, slow, in_jax(batch), 0.9), has_aux=True
    )(weights)

    assert float(found) == pytest.approx(expected.item(), abs=TOLERANCE)
    np.testing.assert_allclose(found_values, values, atol=TOLERANCE)
    assert_same_gradients(agent, gradients["params"]["network"])


def actor_critic_weights(agent: Any, critics: tuple[str, ...]) -> dict[str, Any]:
    return {name: {"params": layers(getattr(agent, name))} for name in ("actor", *critics)}


def test_ddpg(generator: torch.Generator) -> None:
    agent, target = ddpg.Agent(FLAT.shape, TORQUES), ddpg.Agent(FLAT.shape, TORQUES)
    batch = continuous_batch(generator)
    expected, values = ddpg.critic_loss(agent, target, Transitions(**batch), 0.9)
    expected_actor = ddpg.actor_loss(agent, Transitions(**batch))

    networks = ActorAndCritics(Bounds.of(TORQUES), ddpg_jax.CRITICS)
    weights, slow = (actor_critic_weights(each, ddpg_jax.CRITICS) for each in (agent, target))
    found, found_values = jax.jit(
        lambda weights: ddpg_jax.critic_loss(networks, weights, slow, in_jax(batch), 0.9)
    )(weights)
    found_actor, gradients = gradients_of(
        lambda actor: ddpg_jax.actor_loss(networks, {**weights, "actor": actor}, in_jax(batch).obs)
    )(weights["actor"])

    assert float(found) == pytest.approx(expected.item(), abs=TOLERANCE)
    np.testing.assert_allclose(found_values, values.detach(), atol=TOLERANCE)
    assert float(found_actor) == pytest.approx(expected_actor.item(), abs=TOLERANCE)
    expected_actor.backward()
    assert_same_gradients(agent.actor, gradients["params"])


def test_td3(generator: torch.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    agent, target = td3.Agent(FLAT.shape, TORQUES), td3.Agent(FLAT.shape, TORQUES)
    batch, config = continuous_batch(generator), td3.Config(policy_noise=0.5, noise_clip=0.4)
    noise = torch.randn((SIZE, 2), generator=generator)
    monkeypatch.setattr(torch, "randn_like", lambda _: noise)
    loss1, loss2, values1, values2 = td3.critic_losses(agent, target, Transitions(**batch), config)
    expected_actor = td3.actor_loss(agent, Transitions(**batch))

    networks = ActorAndCritics(Bounds.of(TORQUES), td3_jax.CRITICS)
    weights, slow = (actor_critic_weights(each, td3_jax.CRITICS) for each in (agent, target))
    in_config = td3_jax.Config(policy_noise=0.5, noise_clip=0.4)
    arguments = slow, in_jax(batch), noise.numpy(), in_config
    total, losses = jax.jit(lambda weights: td3_jax.critic_losses(networks, weights, *arguments))(
        weights
    )
    found_actor = jax.jit(lambda weights: td3_jax.actor_loss(networks, weights, in_jax(batch).obs))(
        weights
    )

    assert float(total) == pytest.approx((loss1 + loss2).item(), abs=TOLERANCE)
    assert {name: float(value) for name, value in losses.items()} == pytest.approx(
        {
            "losses/qf1_values": values1.mean().item(),
            "losses/qf2_values": values2.mean().item(),
            "losses/qf1_loss": loss1.item(),
            "losses/qf2_loss": loss2.item(),
        },
        abs=TOLERANCE,
    )
    assert float(found_actor) == pytest.approx(expected_actor.item(), abs=TOLERANCE)


def ppo_batch(generator: torch.Generator) -> dict[str, torch.Tensor]:
    def normal() -> torch.Tensor:
        return torch.randn(SIZE, generator=generator)

    return {
        "obs": observations(GAMES, generator),
        "actions": torch.randint(0, int(ACTIONS.n), (SIZE,), generator=generator),
        "log_probs": -1.4 + 0.2 * normal(),
        "advantages": normal(),
        "returns": normal(),
        "values": normal(),
    }


@pytest.mark.parametrize("clips", [True, False], ids=["clipped values", "free values"])
def test_ppo(clips: bool, generator: torch.Generator) -> None:
    agent, batch = NatureAgent(int(ACTIONS.n)), ppo_batch(generator)
    settings = {"clip_coef": 0.1, "clip_vloss": clips}
    expected, parts = ppo.loss(
        agent, distribution_for(ACTIONS), ppo.Batch(**batch), ppo.Config(**settings)
    )
    expected.backward()

    network, config = FlaxNatureAgent(int(ACTIONS.n)), ppo_jax.Config(**settings)
    rows = {name: tensor.numpy() for name, tensor in batch.items()}
    every = ppo_jax.Batch(**rows, weights=np.ones(SIZE, np.float32))
    (found, losses), gradients = gradients_of(
        lambda weights: ppo_jax.loss(network, config, weights, every), has_aux=True
    )({"params": layers(agent)})

    assert float(found) == pytest.approx(expected.item(), abs=TOLERANCE)
    for name in ("policy_loss", "value_loss", "entropy"):
        assert float(losses[f"losses/{name}"]) == pytest.approx(parts[name].item(), abs=TOLERANCE)
    assert_same_gradients(agent, gradients["params"])


def test_steps_that_only_reset_a_game_are_not_learned_from(generator: torch.Generator) -> None:
    rows = {name: tensor.numpy() for name, tensor in ppo_batch(generator).items()}
    network, config = FlaxNatureAgent(int(ACTIONS.n)), ppo_jax.Config()
    weights = {"params": layers(NatureAgent(int(ACTIONS.n)))}
    counts = np.arange(SIZE) % 3 > 0
    masked = ppo_jax.Batch(**rows, weights=counts.astype(np.float32))
    kept = {name: array[counts] for name, array in rows.items()}
    alone = ppo_jax.Batch(**kept, weights=np.ones(counts.sum(), np.float32))

    found, _ = jax.jit(lambda weights: ppo_jax.loss(network, config, weights, masked))(weights)
    expected, _ = jax.jit(lambda weights: ppo_jax.loss(network, config, weights, alone))(weights)

    assert float(found) == pytest.approx(float(expected), abs=TOLERANCE)


@pytest.mark.parametrize("scan", [True, False])
def test_advantages(scan: bool) -> None:
    rng = np.random.default_rng(1)
    rewards, values = rng.standard_normal((2, 7, 3)).astype(np.float32)
    ends, last = rng.random((7, 3)) < 0.3, rng.standard_normal(3).astype(np.float32)
    lambdas = {"gamma": 0.9, "gae_lambda": 0.8}
    expected = returns.generalised_advantages(rewards, values, ends, last, **lambdas)

    found = jax.jit(lambda *a: advantages.generalised_advantages(*a, **lambdas, scan=scan))(
        rewards, values, ends, last
    )

    np.testing.assert_allclose(found, expected, atol=TOLERANCE)


def test_projection_onto_atoms(generator: torch.Generator) -> None:
    atoms = torch.linspace(-2.0, 2.0, 9)
    probabilities = torch.rand((SIZE, 9), generator=generator).softmax(-1)
    wanted = torch.randn((SIZE, 9), generator=generator) * 2
    expected = returns.project_onto_atoms(probabilities, wanted, atoms)

    found = jax.jit(project_onto_atoms)(probabilities.numpy(), wanted.numpy(), atoms.numpy())

    np.testing.assert_allclose(found, expected, atol=TOLERANCE)
