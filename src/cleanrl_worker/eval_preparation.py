"""Everything that happens before the first episode, and all that a dry run does."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from cleanrl_worker.agents.architecture import architecture_of, count_parameters
from cleanrl_worker.envs.registry import ResolvedEnv, resolve
from cleanrl_worker.eval_options import EvalOptions
from cleanrl_worker.eval_registry import (
    LoadedPolicy,
    SavedPolicy,
    check_algorithm,
    load_policy,
    read_policy,
)
from cleanrl_worker.evaluation import Rules
from cleanrl_worker.evaluation_env import Stage
from cleanrl_worker.frameworks import Device, start_device
from cleanrl_worker.lanes import open_view
from cleanrl_worker.preparation import PROCESS_MB, check_actions
from cleanrl_worker.recipes import Recipe, find_recipe
from mosaic.contracts.errors import ConfigError
from mosaic.contracts.parameters import build, parameters_of, parse_flags
from mosaic.contracts.paths import VarPaths
from mosaic.contracts.settings import load_settings


@dataclass(frozen=True, slots=True)
class PreparedEvaluation:
    """An evaluation that is ready to play."""

    recipe: Recipe
    options: EvalOptions
    env: ResolvedEnv
    stage: Stage
    saved: SavedPolicy
    policy: LoadedPolicy
    device: Device
    warnings: tuple[str, ...]

    @property
    def rules(self) -> Rules:
        options = self.options
        return Rules(
            seed=options.seed,
            deterministic=options.eval_deterministic,
            gamma=1.0 if options.eval_gamma is None else options.eval_gamma,
            max_steps=options.eval_max_episode_steps,
            max_seconds=options.eval_max_episode_seconds,
        )

    def describe(self) -> dict[str, Any]:
        """Return what the summary says of where its numbers come from."""
        return {
            "algo": self.recipe.name,
            "env_id": self.env.id,
            "policy": str(self.saved.path),
            "policy_kind": self.saved.kind,
            "policy_env_id": self.saved.env_id,
            "seed": self.options.seed,
            "deterministic": self.options.eval_deterministic,
            "gamma": self.options.eval_gamma,
            "warnings": list(self.warnings),
        }


def prepare_evaluation(
    name: str, flags: Sequence[str], *, draw_dim: int | None = None
) -> PreparedEvaluation:
    """Parse the flags, read the policy, build its environment, and check that they fit.

    With `draw_dim` the episodes are drawn on demand, and shown to nobody else.
    """
    recipe = find_recipe(name)
    values = parse_flags(parameters_of(EvalOptions), flags, owner=recipe.name)
    options: EvalOptions = build(EvalOptions, values)
    if not options.policy_path:
        raise ConfigError("policy_path is missing: name a saved policy or a checkpoint.")
    saved = read_policy(Path(options.policy_path))
    check_algorithm(saved, recipe)
    env = _resolve_env(options.env_id, saved, recipe)
    device, warnings = start_device(
        recipe, cuda=options.cuda, threads=options.torch_threads, deterministic=True
    )
    torch.manual_seed(options.seed)
    is_shown = draw_dim is None and not options.dry_run
    stage = Stage(
        env,
        normalise=recipe.normalise,
        video_dir=_video_dir(options),
        view=open_view(1, is_evaluation=True) if is_shown else None,
        draw_dim=draw_dim,
    )
    check_actions(recipe, stage.envs, env.id)
    policy = load_policy(recipe, saved, stage, device)
    warnings = env.notes + warnings + _other_env(env, saved) + policy.warnings
    return PreparedEvaluation(recipe, options, env, stage, saved, policy, device, warnings)


def _resolve_env(asked: str | None, saved: SavedPolicy, recipe: Recipe) -> ResolvedEnv:
    env_id = asked or saved.env_id
    if env_id is None:
        raise ConfigError(
            f"env_id is missing: the policy {saved.path.name!r} does not name its environment."
        )
    modules = load_settings(VarPaths.default().settings).env_modules
    return resolve(env_id, modules, recipe.sight)


def _other_env(env: ResolvedEnv, saved: SavedPolicy) -> tuple[str, ...]:
    if saved.env_id in (None, env.id):
        return ()
    return (f"The policy was trained on {saved.env_id}, and is evaluated on {env.id}.",)


def _video_dir(options: EvalOptions) -> Path | None:
    if not options.eval_capture_video:
        return None
    run_id = os.environ.get("MOSAIC_RUN_ID") or "local"
    return Path("videos") / f"{run_id}-eval"


def summarise(prepared: PreparedEvaluation) -> dict[str, Any]:
    """Take one step with the policy, and return the dry run's findings."""
    stage, envs = prepared.stage, prepared.stage.envs
    obs = stage.begin(0, prepared.options.seed)
    stage.step(prepared.policy.choose(obs, None))
    stage.close()
    agent = prepared.policy.agent
    parameters = count_parameters(agent)
    return {
        "env": {
            "id": prepared.env.id,
            "family": prepared.env.family,
            "observation_space": str(envs.observation_space),
            "action_space": str(envs.action_space),
        },
        "agent": {
            "architecture": architecture_of(agent),
            "parameters": parameters,
            "policy": str(prepared.saved.path),
            "policy_kind": prepared.saved.kind,
        },
        "device": str(prepared.device),
        "resources": {
            "memory_mb": round(PROCESS_MB + parameters * 4 / 2**20),
            "disk_mb": 1,
        },
        "warnings": list(prepared.warnings),
    }
