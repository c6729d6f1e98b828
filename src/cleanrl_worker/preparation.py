"""Everything that happens before training, and all that a dry run does.

Whatever is wrong with a config is found here, before anything is written.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch
from torch import nn

from cleanrl_worker.describe import recipe_parameters
from cleanrl_worker.envs.build import build_envs
from cleanrl_worker.envs.registry import ResolvedEnv, resolve
from cleanrl_worker.envs.vector import EnvBatch
from cleanrl_worker.recipes import Recipe, find_recipe
from cleanrl_worker.run_options import RunOptions
from mosaic.contracts.parameters import build, parse_flags

DRY_RUN_ENVS = 2
PROCESS_MB = 350  # a Python process with torch and Gymnasium loaded, measured on Linux
OPTIMISER_COPIES = 2  # Adam keeps two moments of every weight


@dataclass(frozen=True, slots=True)
class Prepared:
    """A run that is ready to train."""

    recipe: Recipe
    algorithm: ModuleType
    options: RunOptions
    config: Any
    env: ResolvedEnv
    envs: EnvBatch
    agent: nn.Module
    device: torch.device
    warnings: tuple[str, ...]

    def settings(self) -> dict[str, Any]:
        """Return every option and hyperparameter, as they are logged and stored."""
        return asdict(self.options) | asdict(self.config)


def prepare(name: str, flags: Sequence[str]) -> Prepared:
    """Parse the flags, build the environments and the agent, and check that they fit."""
    recipe = find_recipe(name)
    values = parse_flags(recipe_parameters(recipe), flags, owner=name)
    algorithm = importlib.import_module(recipe.module)
    options: RunOptions = build(RunOptions, values)
    config = build(algorithm.Config, values)
    config.check(options.total_timesteps)
    env = resolve(options.env_id)
    device, warnings = _choose_device(options.cuda)
    _fix_arithmetic(options)

    num_envs = min(config.num_envs, DRY_RUN_ENVS) if options.dry_run else config.num_envs
    video_dir = Path("videos") if options.capture_video and not options.dry_run else None
    envs = build_envs(env, num_envs, video_dir=video_dir)
    agent = algorithm.build(config, envs, env.id).to(device)
    return Prepared(
        recipe, algorithm, options, config, env, envs, agent, device, env.notes + warnings
    )


def _choose_device(cuda: bool) -> tuple[torch.device, tuple[str, ...]]:
    if not cuda:
        return torch.device("cpu"), ()
    if torch.cuda.is_available():
        return torch.device("cuda"), ()
    return torch.device("cpu"), ("cuda=true, but torch sees no GPU here: training on the CPU.",)


def _fix_arithmetic(options: RunOptions) -> None:
    """Seed what is random and fix what results depend on."""
    torch.manual_seed(options.seed)
    np.random.seed(options.seed % 2**32)  # for environments that draw from NumPy's global state
    torch.set_num_threads(options.torch_threads)
    torch.backends.cudnn.deterministic = options.torch_deterministic


def summarise(prepared: Prepared) -> dict[str, Any]:
    """Take one step and one forward pass, and return the dry run's findings."""
    algorithm, envs, agent = prepared.algorithm, prepared.envs, prepared.agent
    obs = envs.reset(prepared.options.seed)
    envs.step(algorithm.policy(agent, prepared.device)(obs, None))
    parameters = sum(weights.numel() for weights in agent.parameters())
    storage_mb = algorithm.storage_bytes(prepared.config, envs.observation_space) / 2**20
    weights_mb = parameters * 4 / 2**20
    return {
        "env": {
            "id": prepared.env.id,
            "family": prepared.env.family,
            "observation_space": str(envs.observation_space),
            "action_space": str(envs.action_space),
        },
        "agent": {"architecture": type(agent).__name__, "parameters": parameters},
        "device": str(prepared.device),
        "resources": {
            "memory_mb": round(PROCESS_MB + storage_mb + (2 + OPTIMISER_COPIES) * weights_mb),
            "storage_mb": round(storage_mb, 2),
            "disk_mb": round(weights_mb * (1 + OPTIMISER_COPIES), 2),
            "python": sys.version.split()[0],
        },
        "warnings": list(prepared.warnings),
    }
