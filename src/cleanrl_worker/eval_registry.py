"""Trained policies as they lie on disk, and how each recipe's network is built from them.

| what `policy_path` names                  | where the architecture comes from                    |
|-------------------------------------------|------------------------------------------------------|
| a model of ours, with its `<stem>.json`   | the settings in that file                            |
| a checkpoint directory                    | the settings in its document                         |
| a model without a description (CleanRL's) | the arguments in it (c51's hold the atoms), else the |
|                                           | recipe's defaults, which are CleanRL's               |

The recipe's algorithm builds the network for the environment's spaces, as it does for training. A
policy is used only if every tensor has its place there. Nothing that a file holds is run.
"""

from __future__ import annotations

import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from cleanrl_worker.agents.architecture import architecture_of
from cleanrl_worker.checkpoint import read_checkpoint
from cleanrl_worker.describe import recipe_parameters
from cleanrl_worker.envs.observations import Array
from cleanrl_worker.envs.vector import EnvBatch
from cleanrl_worker.evaluation_env import Stage
from cleanrl_worker.frameworks import Device, load_algorithm
from cleanrl_worker.models import load_model
from cleanrl_worker.policies import Policy
from cleanrl_worker.recipes import Recipe
from mosaic.contracts.errors import ConfigError, NotFound
from mosaic.contracts.files import read_json
from mosaic.contracts.parameters import build

DESCRIPTION_LIMIT_BYTES = 1 << 20  # one of ours has some 2 kB

# The parts of a checkpoint's state that acting depends on.
_AGENT, _NORMALISER = "agent", "normaliser"

Shapes = dict[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class SavedPolicy:
    """A policy as it was read. `description` is None where no file of ours lies beside the weights.

    `arguments` are those that CleanRL's c51 keeps in the file itself.
    """

    path: Path
    kind: str
    tensors: Mapping[str, Tensor]
    description: Mapping[str, Any] | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)

    @property
    def settings(self) -> Mapping[str, Any]:
        return self.arguments if self.description is None else self.description["settings"]

    @property
    def env_id(self) -> str | None:
        named = (self.description or self.arguments).get("env_id")
        return named if isinstance(named, str) else None


@dataclass(frozen=True, slots=True)
class LoadedPolicy:
    """A policy that is ready to act on its stage."""

    choose: Policy
    agent: Any
    warnings: tuple[str, ...] = field(default=())


def read_policy(path: Path, setting: str = "policy_path") -> SavedPolicy:
    """Read what a setting names; whatever is wrong with it is one clear line."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = getattr(error, "strerror", None) or str(error)
        raise NotFound(f"{setting}={str(path)!r} cannot be read: {reason}.") from None
    if stat.S_ISDIR(mode):
        return _read_checkpoint(path)
    if not stat.S_ISREG(mode):
        raise ConfigError(f"{setting}={str(path)!r} is neither a file nor a checkpoint.")
    model = load_model(path)
    description = _read_description(path.with_suffix(".json"))
    return SavedPolicy(path, "model", model.tensors, description, model.arguments)


def _read_checkpoint(path: Path) -> SavedPolicy:
    checkpoint = read_checkpoint(path)
    agent = checkpoint.state.get(_AGENT)
    if not _is_tensors(agent):
        raise ConfigError(f"Checkpoint {path.name!r} holds no agent.")
    assert agent is not None
    statistics = checkpoint.state.get(_NORMALISER) or {}
    tensors = {name: torch.as_tensor(item) for name, item in {**agent, **statistics}.items()}
    return SavedPolicy(path, "checkpoint", tensors, _check_description(path, checkpoint.document))


def _is_tensors(state: object) -> bool:
    return isinstance(state, dict) and all(
        isinstance(item, Tensor | np.ndarray) for item in state.values()
    )


def _read_description(path: Path) -> Mapping[str, Any] | None:
    if not path.is_file():
        return None
    if path.stat().st_size > DESCRIPTION_LIMIT_BYTES:
        raise ConfigError(f"{str(path)!r} is too large to be the description of a policy.")
    return _check_description(path, read_json(path, what="The policy's description"))


def _check_description(path: Path, description: Any) -> Mapping[str, Any]:
    wanted = {"algo": str, "env_id": str, "settings": dict}
    if not isinstance(description, Mapping):
        raise ConfigError(f"{str(path)!r} does not describe a policy: it is no JSON object.")
    for name, kind in wanted.items():
        if not isinstance(description.get(name), kind):
            raise ConfigError(f"{str(path)!r} does not describe a policy: it has no {name}.")
    return description


def check_algorithm(saved: SavedPolicy, recipe: Recipe) -> None:
    """Refuse a policy that says it is of another recipe."""
    algo = recipe.name if saved.description is None else saved.description["algo"]
    if algo != recipe.name:
        raise ConfigError(f"The policy {saved.path.name!r} is of {algo!r}, not of {recipe.name!r}.")


def load_policy(recipe: Recipe, saved: SavedPolicy, stage: Stage, device: Device) -> LoadedPolicy:
    """Build the recipe's network for the stage, and put the policy's weights into it."""
    statistics = stage.statistics()
    lacks_statistics = saved.description is None and not _has(saved, statistics)
    if lacks_statistics:
        statistics = {}
    agent = load_agent(recipe, saved, stage.envs, statistics)
    if statistics:
        stage.freeze({name: saved.tensors[name].numpy() for name in statistics})
    is_estimated = lacks_statistics and stage.has_scaled_observations
    choose = load_algorithm(recipe).policy(agent.to(device), stage.envs.action_space, device)
    return LoadedPolicy(choose, agent, (_estimated(saved),) if is_estimated else ())


def load_agent(
    recipe: Recipe, saved: SavedPolicy, envs: EnvBatch, statistics: Mapping[str, Array]
) -> Any:
    """Build the recipe's network with a policy's weights; the file must hold the statistics too."""
    algorithm = load_algorithm(recipe)
    agent = algorithm.build(_config(algorithm.Config, recipe, saved), envs)
    needed = agent.state_dict()
    fault = _first_difference(_shapes(needed) | _shapes(statistics), _shapes(saved.tensors))
    if fault is not None:
        raise _misfit(saved, agent, fault)
    agent.load_state_dict({name: saved.tensors[name] for name in needed})
    return agent


def _config(config_type: type, recipe: Recipe, saved: SavedPolicy) -> Any:
    """Return the hyperparameters that the policy was trained with."""
    try:
        values = {
            parameter.name: parameter.check(saved.settings.get(parameter.name, parameter.default))
            for parameter in recipe_parameters(recipe)
        }
    except ConfigError as error:
        raise ConfigError(f"The policy {saved.path.name!r} has wrong settings: {error}") from None
    return build(config_type, values)


def _has(saved: SavedPolicy, statistics: Mapping[str, Array]) -> bool:
    return any(name in saved.tensors for name in statistics)


def _shapes(tensors: Mapping[str, Tensor] | Mapping[str, Array]) -> Shapes:
    return {name: tuple(tensor.shape) for name, tensor in tensors.items()}


def _first_difference(wanted: Shapes, found: Shapes) -> str | None:
    for name, shape in wanted.items():
        if name not in found:
            return f"it lacks {name}"
        if found[name] != shape:
            return f"{name} is {_show(found[name])}, not {_show(shape)}"
    surplus = next((name for name in found if name not in wanted), None)
    return None if surplus is None else f"there is no place for its {surplus}"


def _show(shape: tuple[int, ...]) -> str:
    return "x".join(str(size) for size in shape) or "one number"


def _misfit(saved: SavedPolicy, agent: Any, fault: str) -> ConfigError:
    origin = "has no description" if saved.env_id is None else f"was trained on {saved.env_id!r}"
    hint = "Give the algorithm and the environment that it was trained with."
    if saved.description is None:
        hint += f" A model of MOSAIC's needs {saved.path.with_suffix('.json').name!r} beside it."
    return ConfigError(
        f"The policy {saved.path.name!r} ({origin}) does not fit the {architecture_of(agent)} of "
        f"this environment: {fault}.",
        hint=hint,
    )


def _estimated(saved: SavedPolicy) -> str:
    return (
        f"{saved.path.name} holds no statistics of its observations, which were normalised in "
        "training: they are estimated anew during the evaluation, and early episodes suffer."
    )
