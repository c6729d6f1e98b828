"""Our optimisers step as torch's do, and go on from their state bit for bit."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import Tensor, nn

from cleanrl_worker.agents.targets import Target
from cleanrl_worker.optimisers import Adam, AdamW, RAdam


def network() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2))


def loss_of(model: nn.Module, batch: int) -> Tensor:
    inputs = torch.randn(32, 4, generator=torch.Generator().manual_seed(batch))
    return (model(inputs) - inputs[:, :2].square()).square().mean()


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [(Adam, torch.optim.Adam), (AdamW, torch.optim.AdamW), (RAdam, torch.optim.RAdam)],
    ids=["Adam", "AdamW", "RAdam"],
)
def test_steps_are_torchs(ours, theirs) -> None:
    model = network()
    twin = copy.deepcopy(model)
    optimizer = ours(model.parameters(), 0.01, eps=1e-5, max_grad_norm=0.5)
    reference = theirs(twin.parameters(), 0.01, eps=1e-5)

    for batch in range(50):
        optimizer.zero_grad()
        loss_of(model, batch).backward()
        optimizer.step()
        reference.zero_grad()
        loss_of(twin, batch).backward()
        nn.utils.clip_grad_norm_(twin.parameters(), 0.5)
        reference.step()

    for mine, expected in zip(model.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(mine, expected, atol=2e-6, rtol=1e-5)


def test_a_restored_optimiser_goes_on_as_if_nothing_had_happened() -> None:
    def train(model: nn.Module, optimizer: Adam, batches: range) -> None:
        for batch in batches:
            optimizer.zero_grad()
            loss_of(model, batch).backward()
            optimizer.step()

    whole, part = network(), network()
    train(whole, Adam(whole.parameters(), 0.01), range(20))
    first = Adam(part.parameters(), 0.01)
    train(part, first, range(10))

    resumed = network()
    second = Adam(resumed.parameters(), 0.01)
    resumed.load_state_dict(part.state_dict())
    second.load_state_dict(first.state_dict())
    train(resumed, second, range(10, 20))

    for mine, expected in zip(resumed.parameters(), whole.parameters(), strict=True):
        assert torch.equal(mine, expected)


def test_the_state_of_another_network_is_refused() -> None:
    other = Adam(nn.Linear(3, 1).parameters(), 0.1)
    with pytest.raises(ValueError, match="4 weights instead of"):
        Adam(network().parameters(), 0.1).load_state_dict(other.state_dict())


def test_a_target_follows_weights_that_an_optimiser_took_over_later() -> None:
    model = network()
    target = Target(model)
    optimizer = Adam(model.parameters(), 0.1)
    loss_of(model, 0).backward()
    optimizer.step()

    target.follow(1.0)

    for mine, expected in zip(target.network.parameters(), model.parameters(), strict=True):
        assert torch.equal(mine, expected)
