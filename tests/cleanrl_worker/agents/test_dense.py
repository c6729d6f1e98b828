"""Linear layers by oneDNN: the results and the gradients of torch's."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from cleanrl_worker.agents import dense
from cleanrl_worker.agents.dense import Dense

# Rows, inputs, outputs of products that are large enough.
SHAPES = [(256, 256, 256), (32, 3136, 512), (300, 130, 257)]


@pytest.fixture(autouse=True)
def onednn_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    assert dense._has_product()
    monkeypatch.setattr(dense, "ONEDNN_IS_FASTER", True)


def twins(inputs: int, outputs: int) -> tuple[Dense, nn.Linear]:
    torch.manual_seed(3)
    ours, torchs = Dense(inputs, outputs), nn.Linear(inputs, outputs)
    torchs.load_state_dict(ours.state_dict())
    return ours, torchs


def close(one: Tensor | None, other: Tensor | None) -> None:
    torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("rows", "inputs", "outputs"), SHAPES)
@pytest.mark.parametrize("head", [torch.sum, lambda y: y.relu_().square().mean()])
def test_results_and_gradients_are_torchs(
    rows: int, inputs: int, outputs: int, head: Callable[[Tensor], Tensor]
) -> None:
    ours, torchs = twins(inputs, outputs)
    x = torch.randn(rows, inputs)
    seen = []
    for layer in (ours, torchs):
        given = x.clone().requires_grad_()
        loss = head(layer(given))
        loss.backward()
        seen.append((loss, given.grad, layer.weight.grad, layer.bias.grad))
    for one, other in zip(*seen, strict=True):
        close(one, other)


def test_without_gradients_the_result_is_the_same_to_the_bit() -> None:
    layer, _ = twins(256, 256)
    x = torch.randn(256, 256)
    with torch.no_grad():
        quiet = layer(x)
    assert torch.equal(quiet, layer(x))


def test_a_frozen_layer_hands_the_gradient_on_and_keeps_none() -> None:
    layer, _ = twins(256, 256)
    layer.requires_grad_(False)
    x = torch.randn(256, 256, requires_grad=True)
    layer(x).sum().backward()
    assert x.grad is not None
    assert layer.weight.grad is None
    assert layer.bias.grad is None


def test_small_products_and_other_shapes_stay_with_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> Tensor:
        raise AssertionError("oneDNN was asked")

    monkeypatch.setattr(dense, "_product", refuse)
    layer, twin = twins(256, 256)
    for x in (torch.randn(1, 256), torch.randn(4, 64, 256)):
        assert torch.equal(layer(x), twin(x))
    with pytest.raises(AssertionError, match="oneDNN was asked"):
        layer(torch.randn(256, 256))
