"""Convolutions by products of matrices: XLA's own, to rounding."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from cleanrl_worker.agents.flax_convolution import by_products
from cleanrl_worker.agents.flax_networks import NatureAgent


@pytest.mark.parametrize(
    ("size", "stride", "side", "channels"), [(8, 4, 84, 4), (4, 2, 20, 32), (3, 1, 9, 64)]
)
def test_values_and_gradients_are_those_of_xlas_convolution(
    size: int, stride: int, side: int, channels: int
) -> None:
    rng = np.random.default_rng(1)
    pictures = jnp.asarray(rng.standard_normal((3, side, side, channels)), jnp.float32)
    kernel = jnp.asarray(rng.standard_normal((size, size, channels, 5)), jnp.float32) / size
    layout = ("NHWC", "HWIO", "NHWC")

    def xlas(pictures: Any, kernel: Any) -> Any:
        strides = (stride, stride)
        return jax.lax.conv_general_dilated(
            pictures, kernel, strides, "VALID", dimension_numbers=layout
        )

    def ours(pictures: Any, kernel: Any) -> Any:
        return by_products(pictures, kernel, (stride, stride))

    def gradients(convolve: Any) -> Any:
        return jax.grad(lambda *inputs: (convolve(*inputs) ** 2).mean(), (0, 1))(pictures, kernel)

    np.testing.assert_allclose(ours(pictures, kernel), xlas(pictures, kernel), rtol=1e-4, atol=1e-4)
    for mine, theirs in zip(gradients(ours), gradients(xlas), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-3, atol=1e-5)


def test_on_a_cpu_a_loop_holds_no_convolution() -> None:
    agent = NatureAgent(4)
    pictures = jnp.zeros((2, 8, 4, 84, 84), jnp.uint8)
    weights: Any = agent.init(jax.random.key(0), pictures[0])

    def learn(weights: Any, rows: Any) -> Any:
        slope = jax.grad(lambda weights: agent.apply(weights, rows)[1].mean())(weights)
        return jax.tree.map(lambda weight, change: weight - change, weights, slope), None

    program = jax.jit(lambda weights: jax.lax.scan(learn, weights, pictures)[0]).lower(weights)

    assert "while" in program.as_text()
    assert "stablehlo.convolution" not in program.as_text()
