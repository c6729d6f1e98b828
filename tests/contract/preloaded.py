"""What the fork server imports once."""

import envpool  # noqa: F401 - it takes seconds to import
import gymnasium  # noqa: F401
import torch

import cleanrl_worker.preparation
import cleanrl_worker.tensorboard  # noqa: F401
import tests.contract.short_games  # noqa: F401
from cleanrl_worker.recipes import RECIPES

torch.set_num_threads(1)
for _recipe in RECIPES.values():
    __import__(_recipe.module)
