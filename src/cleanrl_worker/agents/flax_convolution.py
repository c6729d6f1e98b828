"""Convolutions that a CPU's compiler can put into a loop.

XLA gives convolutions to a fast library on the CPU, but not those inside a compiled loop: there one
minibatch of Atari pictures takes a minute. Products of matrices are fast in both places.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp


def convolution(channels: int, size: int, stride: int, **options: Any) -> nn.Conv:
    """Return a square convolution without padding, for pictures that its stride divides."""
    if jax.default_backend() == "cpu":
        options["conv_general_dilated"] = by_products
    return nn.Conv(channels, (size, size), (stride, stride), "VALID", **options)


def by_products(
    pictures: jax.Array, kernel: jax.Array, strides: Sequence[int], *_: Any, **__: Any
) -> jax.Array:
    """Convolve [picture, row, column, channel] with a square kernel, as `lax` does to rounding.

    What one stride covers becomes one cell of more channels, over which the kernel goes by ones.
    """
    stride, size = strides[0], kernel.shape[0]
    assert not any(length % stride for length in (size, *pictures.shape[1:3]))
    cells = _fold(pictures, stride)
    taps, channels = size // stride, kernel.shape[-1]
    folded = _fold(jnp.moveaxis(kernel, -1, 0), stride)
    rows, columns = (length - taps + 1 for length in cells.shape[1:3])
    seen = jnp.concatenate(
        [cells[:, i : i + rows, j : j + columns] for i in range(taps) for j in range(taps)], -1
    )
    return seen @ folded.reshape(channels, -1).T


def _fold(pictures: jax.Array, stride: int) -> jax.Array:
    """Make squares of so many cells a side one cell that holds their channels."""
    count, rows, columns, channels = pictures.shape
    rows, columns = rows // stride, columns // stride
    squares = pictures.reshape(count, rows, stride, columns, stride, channels)
    return squares.swapaxes(2, 3).reshape(count, rows, columns, stride * stride * channels)
