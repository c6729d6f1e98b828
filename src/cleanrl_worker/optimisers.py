"""Adam, AdamW and RAdam over one flat vector.

A small network has a dozen weight tensors, and torch's optimisers spend their time going from one
to the next; the first of them in a process also costs two seconds of imports. Here all weights are
views of one vector and all gradients of another, so that a step, a norm or a zeroing is a handful
of operations whatever the number of layers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

BETA1, BETA2 = 0.9, 0.999
WEIGHT_DECAY = 0.01  # of AdamW


class Adam:
    """Adam (Kingma and Ba 2015), with gradients clipped to a longest norm where one is given.

    It takes the weights over: make it before anything else takes views of them.
    """

    def __init__(
        self,
        parameters: Iterable[nn.Parameter],
        learning_rate: float,
        *,
        eps: float = 1e-8,
        max_grad_norm: float | None = None,
    ) -> None:
        self._eps = eps
        self._max_grad_norm = max_grad_norm
        self._weights, self._gradients = _flatten(list(parameters))
        self._mean = torch.zeros_like(self._weights)
        self._square = torch.zeros_like(self._weights)
        # On a GPU count and rate lie in its memory, where a captured step finds them changed.
        self._steps_taken = torch.zeros((), device=self._weights.device)
        self._rate = torch.zeros_like(self._steps_taken) if self._weights.is_cuda else None
        self.learning_rate = learning_rate

    @property
    def learning_rate(self) -> float:
        return self._learning_rate

    @learning_rate.setter
    def learning_rate(self, rate: float) -> None:
        self._learning_rate = rate
        if self._rate is not None:
            self._rate.fill_(rate)

    @property
    def gradients(self) -> Tensor:
        """All gradients as one vector, for whoever changes them before a step."""
        return self._gradients

    def zero_grad(self) -> None:
        self._gradients.zero_()

    def descend(self, loss: Tensor) -> None:
        """Take one step down a loss."""
        self.zero_grad()
        loss.backward()
        self.step()

    @torch.no_grad()
    def step(self) -> None:
        """Move the weights along the gradients that a backward pass has left."""
        gradients = self._gradients
        if self._max_grad_norm is not None:
            norm = torch.linalg.vector_norm(gradients)
            gradients *= (self._max_grad_norm / (norm + 1e-6)).clamp(max=1.0)
        self._steps_taken += 1
        self._move(gradients)

    def _move(self, gradients: Tensor) -> None:
        """Take the step in one pass over the vectors, of which a large network's fit no cache."""
        torch._fused_adam_(
            [self._weights],
            [gradients],
            [self._mean],
            [self._square],
            [],
            [self._steps_taken],
            lr=self.learning_rate if self._rate is None else self._rate,
            beta1=BETA1,
            beta2=BETA2,
            weight_decay=0.0,
            eps=self._eps,
            amsgrad=False,
            maximize=False,
        )

    def state_dict(self) -> dict[str, Any]:
        return {"steps": int(self._steps_taken), "mean": self._mean, "square": self._square}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        for mine, theirs in ((self._mean, state["mean"]), (self._square, state["square"])):
            if mine.shape != theirs.shape:
                raise ValueError(f"{theirs.numel()} weights instead of {mine.numel()}")
            mine.copy_(theirs)
        self._steps_taken.fill_(int(state["steps"]))


class AdamW(Adam):
    """Adam with weights that decay by themselves (Loshchilov and Hutter 2019); torch's default."""

    def _move(self, gradients: Tensor) -> None:
        rate = self.learning_rate if self._rate is None else self._rate
        self._weights.mul_(1 - rate * WEIGHT_DECAY)
        super()._move(gradients)


class RAdam(Adam):
    """Rectified Adam (Liu et al. 2020): plain momentum until the squares' mean can be trusted.

    The count of steps decides which of the two it is, so it stays with the host, and a step is
    never part of a captured update.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._steps_taken = self._steps_taken.cpu()

    def _move(self, gradients: Tensor) -> None:
        steps = int(self._steps_taken)
        self._mean.lerp_(gradients, 1 - BETA1)
        self._square.mul_(BETA2).addcmul_(gradients, gradients, value=1 - BETA2)
        rate = self.learning_rate / (1 - BETA1**steps)
        square_share = 1 - BETA2**steps  # the weight that the squares' mean has gathered
        longest = 2 / (1 - BETA2) - 1
        length = longest - 2 * steps * BETA2**steps / square_share
        if length <= 5:
            self._weights.add_(self._mean, alpha=-rate)
            return
        rectification = math.sqrt(
            (length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)
        )
        root = self._square.sqrt().add_(self._eps).div_(math.sqrt(square_share))
        self._weights.addcdiv_(self._mean, root, value=-rate * rectification)


def _flatten(parameters: list[nn.Parameter]) -> tuple[Tensor, Tensor]:
    """Make the parameters and their gradients views of two vectors, and return these."""
    weights = torch.cat([parameter.detach().flatten() for parameter in parameters])
    gradients = torch.zeros_like(weights)
    start = 0
    for parameter in parameters:
        stop = start + parameter.numel()
        parameter.data = weights[start:stop].view(parameter.shape)
        parameter.grad = gradients[start:stop].view(parameter.shape)
        start = stop
    return weights, gradients
