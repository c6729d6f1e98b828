"""Acting through torch gives the network's own outputs; on a GPU every replay does."""

from __future__ import annotations

from collections.abc import Callable

import gymnasium as gym
import numpy as np
import pytest
import torch
from torch import nn

from cleanrl_worker.agents.continuous import SquashedGaussianActor
from cleanrl_worker.agents.impala import ImpalaAgent
from cleanrl_worker.agents.mlp import GaussianMLPAgent
from cleanrl_worker.agents.nature import NatureAgent, NatureQNetwork
from cleanrl_worker.agents.torch_inference import by_torch

# A machine without a GPU asks the same of its processor.
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
TORQUES = gym.spaces.Box(-2, 2, (1,))
NETWORKS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...], type]] = {
    "gaussian": (lambda: GaussianMLPAgent((3,), 1), (3,), np.float32),
    "squashed": (lambda: SquashedGaussianActor((3,), TORQUES), (3,), np.float32),
    "nature": (lambda: NatureAgent(6), (4, 84, 84), np.uint8),
    "nature values": (lambda: NatureQNetwork(6), (4, 84, 84), np.uint8),
    "impala": (lambda: ImpalaAgent(15), (3, 64, 64), np.uint8),
}


@pytest.mark.parametrize("kind", NETWORKS)
def test_outputs_are_the_networks_own(kind: str) -> None:
    make, shape, dtype = NETWORKS[kind]
    network = make().to(DEVICE)
    run = by_torch(network, DEVICE)

    for rows in (1, 8, 1, 8):
        obs = _observations(rows, shape, dtype)
        _assert_equal(run(obs), network, obs)


@pytest.mark.parametrize("kind", NETWORKS)
def test_an_optimiser_step_is_seen_at_once(kind: str) -> None:
    make, shape, dtype = NETWORKS[kind]
    network = make().to(DEVICE)
    run, obs = by_torch(network, DEVICE), _observations(4, shape, dtype)
    before = run(obs)

    optimizer = torch.optim.Adam(network.parameters(), 0.1)
    sum(output.sum() for output in _as_tuple(network(_tensor(obs)))).backward()
    optimizer.step()

    after = run(obs)
    assert all((old != new).any() for old, new in zip(before, after, strict=True))
    _assert_equal(after, network, obs)


def test_results_do_not_change_with_the_next_call() -> None:
    network = NatureQNetwork(6).to(DEVICE)
    run = by_torch(network, DEVICE)
    run(_observations(2, (4, 84, 84), np.uint8))
    (first,) = run(_observations(2, (4, 84, 84), np.uint8))
    kept = first.copy()

    run(np.zeros((2, 4, 84, 84), np.uint8))

    np.testing.assert_array_equal(first, kept)


def test_more_shapes_than_are_kept_give_the_networks_outputs_too() -> None:
    network = GaussianMLPAgent((3,), 1).to(DEVICE)
    run = by_torch(network, DEVICE)

    for rows in range(1, 13):
        obs = _observations(rows, (3,), np.float32)
        _assert_equal(run(obs), network, obs)


def test_observations_need_not_lie_in_one_piece() -> None:
    network = NatureQNetwork(6).to(DEVICE)
    run = by_torch(network, DEVICE)
    obs = _observations(4, (4, 84, 84), np.uint8)[::2]

    for _ in range(2):
        _assert_equal(run(obs), network, obs)


def _observations(rows: int, shape: tuple[int, ...], dtype: type) -> np.ndarray:
    return (255 * np.random.default_rng(rows).random((rows, *shape))).astype(dtype)


def _assert_equal(found: tuple[np.ndarray, ...], network: nn.Module, obs: np.ndarray) -> None:
    with torch.inference_mode():
        expected = _as_tuple(network(_tensor(obs)))
    for output, tensor in zip(found, expected, strict=True):
        np.testing.assert_array_equal(output, tensor.cpu().numpy())


def _tensor(obs: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(obs)).to(DEVICE)


def _as_tuple(outputs: torch.Tensor | tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
    return (outputs,) if isinstance(outputs, torch.Tensor) else outputs
