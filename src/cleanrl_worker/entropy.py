"""The weight of the entropy in soft actor-critics: fixed, or learned towards a target."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from cleanrl_worker.optimisers import Adam


class EntropyWeight:
    """Grows while the policy's entropy is below its target, and falls while it is above.

    (Haarnoja et al. 2018, eq. 18.) With a `fixed` value it stays that.
    """

    def __init__(
        self, logarithm: nn.Parameter, optimizer: Adam, target: float, *, fixed: float | None
    ) -> None:
        self.optimizer = optimizer
        self._logarithm = logarithm
        self._target = target
        self._fixed = fixed

    def value(self) -> Tensor:
        if self._fixed is None:
            return self._logarithm.detach().exp()
        return torch.full((1,), self._fixed, device=self._logarithm.device)

    def learn(self, log_probs: Tensor) -> dict[str, Tensor]:
        """Take a step by the log probabilities of actions, or their expectations; return the loss.

        Nothing is returned where there is nothing to learn.
        """
        if self._fixed is not None:
            return {}
        loss = -(self._logarithm.exp() * (log_probs + self._target)).mean()
        self.optimizer.descend(loss)
        return {"losses/alpha_loss": loss}
