"""Distributions of returns inside a program."""

from __future__ import annotations

import jax
import jax.numpy as jnp


def project_onto_atoms(probabilities: jax.Array, returns: jax.Array, atoms: jax.Array) -> jax.Array:
    """Return distributions over the atoms in place of distributions over arbitrary returns.

    Each probability is shared between the two atoms around its return, the nearer one taking the
    larger share (Bellemare et al. 2017, algorithm 1). Returns beyond the atoms go to the outermost.
    An atom's share is 1 less its distance in spacings, as far as that is positive: without
    scatters, which are slow on a GPU and in another order each time.
    """
    spacing = atoms[1] - atoms[0]
    places = (jnp.clip(returns, atoms[0], atoms[-1]) - atoms[0]) / spacing
    distances = jnp.abs(places[:, :, None] - jnp.arange(len(atoms)))
    return jnp.einsum("bi,bij->bj", probabilities, jnp.maximum(1.0 - distances, 0.0))
