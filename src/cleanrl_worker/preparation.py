"""Everything that happens before training, and all that a dry run does.

Whatever is wrong with a config is found here, before anything is written.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import gymnasium as gym
import numpy as np
import psutil
import torch

from cleanrl_worker.agents.architecture import architecture_of, count_parameters
from cleanrl_worker.channel import Channel
from cleanrl_worker.checkpoint import Checkpoint
from cleanrl_worker.compiling import Compiler, build_compiler
from cleanrl_worker.cuts import MISFITS, Checkpoints, Stateful, resolve_interval
from cleanrl_worker.describe import recipe_parameters
from cleanrl_worker.envs.backends import AUTO, ENVPOOL, JAX, NATIVE
from cleanrl_worker.envs.build import Normalisation
from cleanrl_worker.envs.registry import ATARI, PLAYERS, ResolvedEnv, resolve
from cleanrl_worker.envs.vector import EnvBatch
from cleanrl_worker.frameworks import Device, load_algorithm, start_device
from cleanrl_worker.lanes import open_view
from cleanrl_worker.random_state import cut_seed
from cleanrl_worker.ranks.group import Alone
from cleanrl_worker.ranks.placing import place_rank
from cleanrl_worker.recipes import Recipe, find_recipe
from cleanrl_worker.recording import Run
from cleanrl_worker.replay.choosing import replay_disk_bytes
from cleanrl_worker.resuming import (
    Origin,
    check_same_run,
    describe_machine,
    differences,
    read_origin,
    take_over,
)
from cleanrl_worker.run_options import RunOptions
from cleanrl_worker.staging import Staging, plan_stages
from cleanrl_worker.teachers import Teacher, find_teacher, learns_from_teacher
from cleanrl_worker.wandb_sink import check_wandb
from mosaic.contracts.errors import ConfigError
from mosaic.contracts.events import finite
from mosaic.contracts.parameters import build, parse_flags
from mosaic.contracts.paths import VarPaths
from mosaic.contracts.settings import load_settings

DRY_RUN_ENVS = 2
PROCESS_MB = 350  # a Python process with torch and Gymnasium loaded, measured on Linux
OPTIMISER_COPIES = 2  # Adam keeps two moments of every weight

_SPACES: dict[str, tuple[type[gym.Space[Any]], ...]] = {
    "discrete": (gym.spaces.Discrete,),
    "branches": (gym.spaces.Discrete, gym.spaces.MultiDiscrete),
    "box": (gym.spaces.Box,),
}


@dataclass(frozen=True, slots=True)
class Prepared:
    """A run that is ready to train."""

    recipe: Recipe
    algorithm: ModuleType
    options: RunOptions
    config: Any
    env: ResolvedEnv
    staging: Staging
    envs: EnvBatch
    agent: Any
    device: Device
    compiler: Compiler
    origin: Origin | None
    warnings: tuple[str, ...]
    processes: int = 1  # that share the environments
    teacher: Teacher | None = None

    def settings(self) -> dict[str, Any]:
        """Return every option and hyperparameter, as they are logged and stored."""
        return asdict(self.options) | asdict(self.config)

    def describe(self) -> dict[str, Any]:
        """Return what a saved policy or checkpoint says of where it comes from."""
        description = {
            "algo": self.recipe.name,
            "env_id": self.env.id,
            "seed": self.options.seed,
            "architecture": architecture_of(self.agent),
            "settings": self.settings(),
            "machine": describe_machine(str(self.device)),
        }
        return dict(finite(description))


@dataclass(frozen=True, slots=True)
class _Asked:
    """What the flags ask for, with the settings of the checkpoint that they name."""

    recipe: Recipe
    algorithm: ModuleType
    values: dict[str, Any]
    options: RunOptions
    config: Any
    origin: Origin | None


def prepare(name: str, flags: Sequence[str], *, rank: int = 0) -> Prepared:
    """Parse the flags, build the environments and the agent, and check that they fit.

    `rank` is the number of this process, in a run of several.
    """
    asked = _read_flags(name, flags)
    recipe, options, config = asked.recipe, asked.options, asked.config
    modules = load_settings(VarPaths.default().settings).env_modules
    env = resolve(options.env_id, modules, recipe.sight)
    device, compiler, warnings = _place(asked, rank)
    # What is drawn from here on depends on the order of these steps.
    _seed(options.seed)
    staging = plan_stages(env, options, modules)
    processes = count_processes(recipe, config, staging)
    cpus = None if options.env_cpus is None else max(1, options.env_cpus // processes)
    options, unmet = _choose_backend(asked, env, staging, cpus)
    longest_episode = staging.check()
    envs = _build_envs(recipe, options, config, staging, cpus, is_seen=rank == 0)
    check_actions(recipe, envs, env.id)
    check_memory(asked.algorithm.storage_bytes(config, envs))
    agent = asked.algorithm.build(config, envs).to(device)
    interval = resolve_interval(
        options.checkpoint_interval,
        options.total_timesteps,
        longest_episode or envs.max_episode_steps,
        config.num_envs * processes,
    )
    if asked.origin is not None and asked.origin.weights is not None:
        load_weights(agent, envs, asked.origin)
    if rank:  # the weights are the same in every process, and what is drawn from now on is not
        _seed(cut_seed(options.seed, rank))
    teacher = _seek_teacher(asked, env, envs, device)
    return Prepared(
        recipe=recipe,
        algorithm=asked.algorithm,
        options=replace(options, checkpoint_interval=interval),
        config=config,
        env=env,
        staging=staging,
        envs=envs,
        agent=agent,
        device=device,
        compiler=compiler,
        origin=asked.origin,
        warnings=env.notes + warnings + unmet + staging.warnings,
        processes=processes,
        teacher=teacher,
    )


def _read_flags(name: str, flags: Sequence[str]) -> _Asked:
    """Parse the flags, and check what can be checked of them alone."""
    recipe = find_recipe(name)
    algorithm = load_algorithm(recipe)
    values, origin = _read_settings(recipe, flags)
    options: RunOptions = build(RunOptions, values)
    check_wandb(options.track)
    config = build(algorithm.Config, values)
    config.check(options.total_timesteps)
    return _Asked(recipe, algorithm, values, options, config, origin)


def _place(asked: _Asked, rank: int) -> tuple[Device, Compiler, tuple[str, ...]]:
    """Return where and how the run computes, and what in that is not as asked, or as before."""
    recipe, options, config = asked.recipe, asked.options, asked.config
    device, warnings = start_device(
        recipe,
        cuda=options.cuda,
        threads=options.torch_threads,
        deterministic=options.torch_deterministic,
    )
    if recipe.is_shared:
        assert isinstance(device, torch.device)
        device, placed = place_rank(
            device, rank, config.world_size, config.device_ids, config.backend
        )
        warnings += placed
    compiler, unmet = build_compiler(
        compile=options.compile, cudagraphs=options.cudagraphs, cuda=options.cuda, device=device
    )
    warnings += unmet
    if asked.origin is not None:
        machine = describe_machine(str(device))
        warnings += tuple(differences(asked.origin, asked.values, machine))
    return device, compiler, warnings


def _choose_backend(
    asked: _Asked, env: ResolvedEnv, staging: Staging, cpus: int | None
) -> tuple[RunOptions, tuple[str, ...]]:
    """Return the options with the backend of the run, and a word on one that is missed.

    It is chosen by the run's own number of environments, in a dry run too: it is the same decision.
    """
    recipe, options = asked.recipe, asked.options
    backend = staging.choose_backend(
        asked.config.num_envs,
        options.env_backend,
        video=options.capture_video,
        cpus=cpus,
        pooled_games=recipe.pooled_games,
    )
    check_framework(recipe, backend)
    is_pooled = recipe.pooled_games and env.family == ATARI.name
    unmet: tuple[str, ...] = ()
    if is_pooled and options.env_backend == AUTO and backend == NATIVE:
        unmet = ("envpool is not installed: ale-py's vector environment plays the games.",)
    return replace(options, env_backend=backend), unmet


def _seek_teacher(
    asked: _Asked, env: ResolvedEnv, envs: EnvBatch, device: Device
) -> Teacher | None:
    """Return whom the algorithm learns from, if it learns from anybody."""
    if not learns_from_teacher(asked.config):
        return None
    is_resumed = asked.origin is not None and asked.origin.checkpoint is not None
    return find_teacher(asked.recipe, asked.config, env.id, envs, device, is_resumed=is_resumed)


def _read_settings(recipe: Recipe, flags: Sequence[str]) -> tuple[dict[str, Any], Origin | None]:
    """Return all values: the flags', else the checkpoint's, else the recipe's."""
    parameters = recipe_parameters(recipe)
    values = parse_flags(parameters, flags, owner=recipe.name)
    if values["checkpoint_path"] is None:
        return values, None
    origin = read_origin(Path(values["checkpoint_path"]), recipe.name)
    values = parse_flags(take_over(parameters, origin), flags, owner=recipe.name)
    check_same_run(origin, values)
    return values, origin


def _seed(seed: int) -> None:
    """Seed what is random."""
    torch.manual_seed(seed)
    # For JAX's first weights, and environments that draw from Python's and NumPy's global states.
    random.seed(seed)
    np.random.seed(seed % 2**32)


def count_processes(recipe: Recipe, config: Any, staging: Staging) -> int:
    """Return how many processes share the environments; with a curriculum they cannot."""
    if not recipe.is_shared or config.world_size == 1:
        return 1
    if staging.curriculum is not None:
        raise ConfigError(
            f"world_size={config.world_size} cannot be used with a curriculum: each process would "
            "be in a stage of its own.",
            hint="Use world_size=1, or ppo_atari.",
        )
    return int(config.world_size)


def _build_envs(
    recipe: Recipe,
    options: RunOptions,
    config: Any,
    staging: Staging,
    cpus: int | None,
    *,
    is_seen: bool,
) -> EnvBatch:
    """Build the environments; those that are not to be seen are neither filmed nor shown."""
    num_envs = config.num_envs
    if options.dry_run:
        num_envs = _count_dry_run(staging.envs[0], num_envs)
    is_seen = is_seen and not options.dry_run
    video_dir = Path("videos") if options.capture_video and is_seen else None
    normalise = Normalisation(config.gamma, recipe.normalise) if recipe.normalise else None
    has_one_game = staging.curriculum is None
    if recipe.steps_inside and options.env_backend == ENVPOOL and has_one_game:
        from cleanrl_worker.envs.in_program import PoolInside

        return PoolInside(staging.envs[0], num_envs)
    return staging.build(
        num_envs,
        backend=options.env_backend,
        video_dir=video_dir,
        normalise=normalise,
        cpus=cpus,
        view=open_view(num_envs) if is_seen else None,
    )


def _count_dry_run(env: ResolvedEnv, num_envs: int) -> int:
    """Return the environments of a dry run: two, or the players of one game."""
    if env.family != PLAYERS.name:
        return min(num_envs, DRY_RUN_ENVS)
    from cleanrl_worker.envs.players import count_players

    return count_players(env, num_envs)


def check_framework(recipe: Recipe, backend: str) -> None:
    if backend == JAX and recipe.framework != "jax":
        raise ConfigError(
            f"env_backend={backend!r} is for recipes in JAX, and {recipe.name} is none.",
            hint="Use env_backend='auto'.",
        )


def check_actions(recipe: Recipe, envs: EnvBatch, env_id: str) -> None:
    """Refuse an environment whose actions are of another kind than the recipe's."""
    wanted = _SPACES[recipe.actions]
    if isinstance(envs.action_space, wanted):
        return
    fits = any(isinstance(envs.action_space, kind) for kind in _SPACES.values())
    raise ConfigError(
        f"env_id={env_id!r} has the action space {envs.action_space}; {recipe.name} needs a "
        f"{' or '.join(space.__name__ for space in wanted)} one.",
        hint=f"Use {recipe.sibling} for it." if fits and recipe.sibling else None,
    )


def check_memory(storage_bytes: int) -> None:
    """Refuse a replay buffer or a rollout that the machine has no room for."""
    free_bytes = psutil.virtual_memory().available
    if storage_bytes > free_bytes:
        raise ConfigError(
            f"The run would store {storage_bytes / 1e9:.1f} GB of experience, and "
            f"{free_bytes / 1e9:.1f} GB of memory are free.",
            hint="Use a smaller buffer_size, or fewer num_envs and num_steps.",
        )


def load_weights(agent: Any, envs: EnvBatch, origin: Origin) -> None:
    """Copy a saved policy's weights, and its normaliser's statistics, into place."""
    assert origin.weights is not None
    names = agent.state_dict().keys()
    try:
        statistics = {key: item.numpy() for key, item in origin.weights.items() if key not in names}
        agent.load_state_dict({key: origin.weights[key] for key in names})
        if isinstance(envs, Stateful):
            envs.load_state_dict(statistics)
    except MISFITS as error:
        lines = str(error).splitlines() or [type(error).__name__]
        raise ConfigError(
            f"The policy {origin.path.name!r} does not fit {architecture_of(agent)}: "
            f"{lines[-1].strip()}"
        ) from None


class _Fits(Exception):
    """Stands for the first step of a training that is not to begin."""


def check_state_fits(prepared: Prepared, checkpoint: Checkpoint) -> None:
    """Let the algorithm take in the checkpoint's state, and stop where it would begin."""

    def stop() -> None:
        raise _Fits

    run = Run(
        total_timesteps=prepared.options.total_timesteps,
        seed=prepared.options.seed,
        channel=Channel(None),
        checkpoints=Checkpoints(checkpoint.path.parent, 1, 1, checkpoint.step),
        resume_from=checkpoint,
        curriculum=prepared.staging.curriculum,
        on_begin=stop,
        group=Alone(prepared.processes),
        teacher=prepared.teacher,
    )
    with contextlib.suppress(_Fits):
        prepared.algorithm.train(
            run, prepared.config, prepared.envs, prepared.agent, prepared.device
        )


def _replay_disk_mb(prepared: Prepared) -> float:
    """Return what checkpoints keep of the replay buffer, where the algorithm has one."""
    capacity = getattr(prepared.config, "buffer_size", None)
    if capacity is None or prepared.options.checkpoint_replay == "none":
        return 0.0
    rows = prepared.options.total_timesteps
    return replay_disk_bytes(capacity, rows, prepared.envs, prepared.config.num_envs) / 2**20


def _each_stage(prepared: Prepared) -> Iterator[int]:
    """Have the environments of each stage in turn; without stages once."""
    sequencer = prepared.staging.sequencer
    for index in range(1 if sequencer is None else len(sequencer.stages)):
        if sequencer is not None:
            sequencer.index = index
            prepared.envs.rebuild()
        yield index


def _describe_stages(prepared: Prepared) -> dict[str, Any]:
    staging = prepared.staging
    if staging.sequencer is not None:
        return {"stages": [stage.to_json() for stage in staging.sequencer.stages]}
    return {"tasks": [env.id for env in staging.envs]} if staging.chooser is not None else {}


def summarise(prepared: Prepared) -> dict[str, Any]:
    """Take one step and one forward pass, and return the dry run's findings."""
    algorithm, envs, agent = prepared.algorithm, prepared.envs, prepared.agent
    if prepared.origin is not None and prepared.origin.checkpoint is not None:
        check_state_fits(prepared, prepared.origin.checkpoint)
    policy = algorithm.policy(agent, envs.action_space, prepared.device)
    for _ in _each_stage(prepared):
        envs.step(policy(envs.reset(prepared.options.seed), None))
    envs.close()
    parameters = count_parameters(agent)
    storage_mb = algorithm.storage_bytes(prepared.config, envs) / 2**20
    weights_mb = parameters * 4 / 2**20
    checkpoint_mb = weights_mb * (1 + OPTIMISER_COPIES)
    return {
        "env": {
            "id": prepared.env.id,
            "family": prepared.env.family,
            "observation_space": str(envs.observation_space),
            "action_space": str(envs.action_space),
            **_describe_stages(prepared),
        },
        "agent": {"architecture": architecture_of(agent), "parameters": parameters},
        "device": str(prepared.device),
        "resources": {
            "memory_mb": round(
                prepared.processes * (PROCESS_MB + (2 + OPTIMISER_COPIES) * weights_mb) + storage_mb
            ),
            "storage_mb": round(storage_mb, 2),
            "disk_mb": round(
                weights_mb
                + prepared.options.keep_checkpoints * checkpoint_mb
                + _replay_disk_mb(prepared),
                2,
            ),
            "checkpoint_interval": prepared.options.checkpoint_interval,
        },
        "warnings": list(prepared.warnings),
    }
