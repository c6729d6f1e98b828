"""Target networks: slow copies of the networks that are trained."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor, nn

Network = TypeVar("Network", bound=nn.Module)


class Target(Generic[Network]):
    """A copy of a network that no gradient reaches, and that follows it."""

    def __init__(self, source: Network) -> None:
        self.network = copy.deepcopy(source).requires_grad_(False)
        self._weights: list[Tensor] = list(self.network.parameters())
        self._source_weights: list[Tensor] = list(source.parameters())

    @torch.no_grad()
    def follow(self, tau: float) -> None:
        """Move the weights the share tau of the way to the source's, in place."""
        torch._foreach_lerp_(self._weights, self._source_weights, tau)

    def state_dict(self) -> dict[str, Any]:
        return self.network.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.network.load_state_dict(state)


@contextlib.contextmanager
def frozen(network: nn.Module) -> Iterator[None]:
    """Let gradients pass through a network to its inputs, without computing those of its weights.

    That is a third of the work of the backward pass, which an actor's loss has no use for.
    """
    network.requires_grad_(False)
    try:
        yield
    finally:
        network.requires_grad_(True)
