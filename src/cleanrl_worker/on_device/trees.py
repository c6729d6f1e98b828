"""Nested JAX state as flat arrays under names, and back, as files hold it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import jax
import numpy as np
from numpy.typing import NDArray

Tree = TypeVar("Tree")
Arrays = dict[str, NDArray[Any]]


def to_arrays(tree: Any) -> Arrays:
    """Return copies of all leaves, named by their way through the tree: `Dense_0.kernel`."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(tree)
    return {_name(path): np.array(leaf) for path, leaf in leaves}


def from_arrays(tree: Tree, arrays: Mapping[str, Any]) -> Tree:
    """Return a tree of the same structure with these leaves; a misfit is a ValueError."""
    leaves, structure = jax.tree_util.tree_flatten_with_path(tree)
    found = [_fitting(_name(path), leaf, arrays) for path, leaf in leaves]
    if len(arrays) > len(found):
        surplus = sorted(set(arrays) - {_name(path) for path, _ in leaves})
        raise ValueError(f"there is no place for its {surplus[0]}")
    placed: Tree = jax.tree_util.tree_unflatten(structure, jax.device_put(found))
    return placed


def _name(path: tuple[Any, ...]) -> str:
    return jax.tree_util.keystr(path, simple=True, separator=".")


def _fitting(name: str, leaf: Any, arrays: Mapping[str, Any]) -> NDArray[Any]:
    if name not in arrays:
        raise ValueError(f"it lacks {name}")
    array = np.array(arrays[name])
    if array.shape != np.shape(leaf):
        raise ValueError(f"{name} is of shape {array.shape}, not {np.shape(leaf)}")
    return array.astype(np.asarray(leaf).dtype, copy=False)


class TreeState:
    """A tree that a checkpoint holds: optimiser states, target weights, keys."""

    def __init__(self, tree: Any) -> None:
        self.tree = tree

    def state_dict(self) -> Arrays:
        return to_arrays(self.tree)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.tree = from_arrays(self.tree, state)
