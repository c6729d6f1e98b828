"""Teachers: trained policies that a student learns from, read from a file or trained first."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from cleanrl_worker.agents.architecture import architecture_of
from cleanrl_worker.agents.inference import Infer
from cleanrl_worker.checkpoint_document import DOCUMENT
from cleanrl_worker.describe import recipe_parameters
from cleanrl_worker.envs.vector import EnvBatch
from cleanrl_worker.eval_registry import SavedPolicy, check_algorithm, load_agent, read_policy
from cleanrl_worker.frameworks import Device, load_algorithm
from cleanrl_worker.models import MODEL_SUFFIX, save_model
from cleanrl_worker.recipes import RECIPES, Recipe
from mosaic.contracts.errors import ConfigError, MosaicError, suggest
from mosaic.contracts.events import finite
from mosaic.contracts.parameters import build

if TYPE_CHECKING:
    from cleanrl_worker.preparation import Prepared
    from cleanrl_worker.recording import Run

SETTING = "teacher_policy_path"
_ALGORITHMS = {"torch": "dqn", "jax": "dqn_jax"}


@dataclass(frozen=True, slots=True)
class Source:
    """The file that a teacher's weights are from, and its digest."""

    path: str
    sha256: str


class Teacher:
    """A policy to learn from. A checkpoint holds its weights: its file may be gone by then.

    `mean_return` is what it reached when it was examined. Without a `source` it is untrained.
    """

    def __init__(self, recipe: Recipe, agent: Any, q_values: Infer) -> None:
        self.recipe = recipe
        self.agent = agent
        self.q_values = q_values
        self.source: Source | None = None
        self.mean_return: float | None = None

    def state_dict(self) -> dict[str, Any]:
        return {
            "weights": self.agent.state_dict(),
            "mean_return": self.mean_return,
            "source": None if self.source is None else asdict(self.source),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.agent.load_state_dict(state["weights"])
        mean, source = state["mean_return"], state["source"]
        self.mean_return = None if mean is None else float(mean)
        self.source = None if source is None else Source(**source)


def learns_from_teacher(config: Any) -> bool:
    return hasattr(config, SETTING)


def find_teacher(
    recipe: Recipe, config: Any, env_id: str, envs: EnvBatch, device: Device, *, is_resumed: bool
) -> Teacher:
    """Return the teacher that a student's settings ask for.

    Its weights are the file's, or those of a network that is yet to be trained, or to be filled
    from the checkpoint.
    """
    chosen = _recipe_of(recipe, config.teacher_model_exp_name)
    algorithm = load_algorithm(chosen)
    if is_resumed or config.teacher_policy_path is None:
        agent = algorithm.build(teacher_config(chosen, config), envs)
        return _teacher(chosen, agent, device)
    path = Path(config.teacher_policy_path)
    try:
        saved = read_policy(path, SETTING)
        check_algorithm(saved, chosen)
        _check_env(saved, env_id)
        agent = load_agent(chosen, saved, envs, {})
    except MosaicError as error:
        if SETTING in error.message:
            raise
        raise ConfigError(f"{SETTING}={str(path)!r}: {error.message}", hint=error.hint) from None
    teacher = _teacher(chosen, agent, device)
    teacher.source = source_of(path)
    return teacher


def teacher_config(recipe: Recipe, config: Any) -> Any:
    """Return the settings of a teacher that is trained: the student's, as far as it has them."""
    values = {parameter.name: parameter.default for parameter in recipe_parameters(recipe)}
    shared = {name: value for name, value in asdict(config).items() if name in values}
    made = build(load_algorithm(recipe).Config, values | shared)
    if config.train_teacher_steps is not None:
        try:
            made.check(config.train_teacher_steps)
        except ConfigError as error:
            raise ConfigError(
                f"train_teacher_steps={config.train_teacher_steps} is no training of "
                f"{recipe.name}: {error.message}"
            ) from None
    return made


def train_teacher(run: Run, prepared: Prepared, folder: Path) -> Path | None:
    """Train the teacher that is yet untrained in the first steps of a new run; save its policy.

    A run that is stopped meanwhile leaves nothing to go on from.
    """
    teacher, steps = run.teacher, prepared.config.train_teacher_steps
    assert teacher is not None
    if steps is None or run.step > 0:
        return None
    config = teacher_config(teacher.recipe, prepared.config)
    algorithm = load_algorithm(teacher.recipe)
    training = run.preceding(steps)
    algorithm.train(training, config, prepared.envs, teacher.agent, prepared.device)
    run.go_to(training.step)
    if run.should_stop:
        return None
    prepared.envs.rebuild()
    path = folder / f"{teacher.recipe.name}{MODEL_SUFFIX}"
    folder.mkdir(parents=True, exist_ok=True)
    tensors = {name: torch.as_tensor(item) for name, item in teacher.agent.state_dict().items()}
    own = {"algo": teacher.recipe.name, "architecture": architecture_of(teacher.agent)}
    settings = {**asdict(prepared.options), **asdict(config), "total_timesteps": steps}
    description = {**prepared.describe(), **own, "settings": settings, "step": training.step}
    save_model(path, tensors, dict(finite(description)))
    teacher.source = source_of(path)
    return path


def source_of(path: Path) -> Source:
    """Name a policy, and the digest of its file; a checkpoint's document seals its other files."""
    file = path / DOCUMENT if path.is_dir() else path
    return Source(path.as_posix(), hashlib.sha256(file.read_bytes()).hexdigest())


def _teacher(recipe: Recipe, agent: Any, device: Device) -> Teacher:
    agent = agent.to(device)
    return Teacher(recipe, agent, load_algorithm(recipe).q_values_of(agent, device))


def _check_env(saved: SavedPolicy, env_id: str) -> None:
    """Refuse a teacher of another game; a file without a description says nothing of its own."""
    if saved.env_id not in (None, env_id):
        raise ConfigError(
            f"The policy {saved.path.name!r} was trained on {saved.env_id!r}, not on {env_id!r}.",
            hint="Name a teacher of the student's environment.",
        )


def _recipe_of(student: Recipe, name: str) -> Recipe:
    algorithm = _ALGORITHMS[student.framework]
    allowed = [
        recipe.name
        for recipe in RECIPES.values()
        if recipe.algorithm == algorithm and "atari" in recipe.env_families
    ]
    if name not in allowed:
        raise ConfigError(
            f"teacher_model_exp_name={name!r} is no teacher of {student.name}."
            f"{suggest(name, allowed)}",
            hint=f"Use {' or '.join(allowed)}.",
        )
    return RECIPES[name]
