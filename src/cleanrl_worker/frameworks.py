"""The framework of a recipe, torch or JAX: loading the algorithm, and starting its device."""

from __future__ import annotations

import importlib
from types import ModuleType

import torch

from cleanrl_worker.jax_runtime import require_jax, start_jax
from cleanrl_worker.memory import keep_freed_memory
from cleanrl_worker.recipes import Recipe

Device = torch.device | str  # JAX has one default device, of which only the kind is named


def load_algorithm(recipe: Recipe) -> ModuleType:
    """Import the recipe's algorithm; a missing framework is refused by the name of its extra."""
    if recipe.framework == "jax":
        require_jax(recipe.name)
    return importlib.import_module(recipe.module)


def start_device(
    recipe: Recipe, *, cuda: bool, threads: int, deterministic: bool
) -> tuple[Device, tuple[str, ...]]:
    """Return the device, and what the user should know where it is not the one asked for."""
    torch.set_num_threads(threads)
    torch.backends.cudnn.deterministic = deterministic
    if recipe.framework == "jax":
        return start_jax(cuda=cuda, threads=threads, deterministic=deterministic)
    if cuda and torch.cuda.is_available():
        return torch.device("cuda"), ()
    keep_freed_memory()
    if not cuda:
        return torch.device("cpu"), ()
    return torch.device("cpu"), ("cuda=true, but torch sees no GPU here: it runs on the CPU.",)
