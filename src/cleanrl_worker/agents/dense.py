"""Linear layers whose large products take the fastest way that the processor has.

On AMD's processors MKL, which torch multiplies with, leaves half of the vector unit unused; oneDNN,
which torch convolves with, does not. A product of 256 by 256 by 256 takes 0.30 ms with the one and
0.14 ms with the other. The way is a matter of the machine and the size alone, so that the same run
gives the same bits again.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.functional import linear

# Multiplications from which on a product repays that its gradient is ours, not torch's.
LARGE = 1 << 22


class Dense(nn.Linear):
    """torch's linear layer, the same to rounding."""

    def forward(self, input: Tensor) -> Tensor:
        return dense(input, self.weight, self.bias)


def dense(rows: Tensor, weights: Tensor, bias: Tensor | None) -> Tensor:
    """Return rows times transposed weights, plus the bias."""
    if not (ONEDNN_IS_FASTER and _is_large(rows, weights)):
        return linear(rows, weights, bias)
    if torch.is_grad_enabled():
        output: Tensor = _Product.apply(rows, weights, bias)  # type: ignore[no-untyped-call]
        return output
    return _product(rows, weights, bias)


def _is_large(rows: Tensor, weights: Tensor) -> bool:
    # The size first: most layers are small, and these lines are a part of their time.
    return (
        rows.shape[0] * weights.numel() >= LARGE
        and rows.is_cpu
        and rows.dim() == 2
        and rows.dtype == weights.dtype == torch.float32
        and not torch.compiler.is_compiling()
    )


def _product(rows: Tensor, weights: Tensor, bias: Tensor | None = None) -> Tensor:
    """Multiply by oneDNN, which reads transposed views as they are."""
    found: Tensor = torch.ops.mkldnn._linear_pointwise(rows, weights, bias, "none", [], "")
    return found


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: Tensor, weights: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(rows, weights)
        return _product(rows, weights, bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, above: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        rows, weights = ctx.saved_tensors
        of_rows, of_weights, of_bias = ctx.needs_input_grad
        above = above.contiguous()
        return (
            _product(above, weights.t()) if of_rows else None,
            _product(above.t(), rows.t()) if of_weights else None,
            above.sum(0) if of_bias else None,
        )


def _onednn_is_faster() -> bool:
    """Return whether this is one of AMD's processors with AVX-512, and torch has oneDNN for it."""
    if sys.platform != "linux" or torch.backends.cpu.get_cpu_capability() != "AVX512":
        return False
    with Path("/proc/cpuinfo").open(encoding="ascii", errors="replace") as file:
        is_amd = "AuthenticAMD" in file.read(256)  # the second line of the first processor
    return is_amd and torch.backends.mkldnn.is_available() and _has_product()


def _has_product() -> bool:
    """Return whether this torch has the operator; it is not part of torch's public interface."""
    try:
        _product(torch.zeros(1, 1), torch.zeros(1, 1))
    except (AttributeError, RuntimeError, TypeError):
        return False
    return True


ONEDNN_IS_FASTER = _onednn_is_faster()
