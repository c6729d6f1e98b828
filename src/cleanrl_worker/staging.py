"""The environments of a run: one, or those of a curriculum, resolved, checked and built."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium as gym

from cleanrl_worker.envs.backends import AUTO, SYNC, choose_backend
from cleanrl_worker.envs.build import Normalisation, build_envs
from cleanrl_worker.envs.normalise import normalised
from cleanrl_worker.envs.observations import ObservationEncoder
from cleanrl_worker.envs.registry import ResolvedEnv, make, resolve
from cleanrl_worker.envs.sync import episode_limit
from cleanrl_worker.envs.vector import EnvBatch
from cleanrl_worker.run_options import RunOptions
from cleanrl_worker.showing import View
from cleanrl_worker.wrappers.curriculum import Sequencer, StagedEnvs
from mosaic.contracts.curriculum import check_curriculum, parse_automatic, parse_schedule
from mosaic.contracts.errors import ConfigError

if TYPE_CHECKING:
    from cleanrl_worker.wrappers.syllabus import TaskChooser


@dataclass(frozen=True, slots=True)
class Spaces:
    """What an environment has in common with the others of its curriculum, and its own limit."""

    observations: gym.Space[Any]
    actions: gym.Space[Any]
    max_episode_steps: int | None


@dataclass(frozen=True, slots=True)
class Staging:
    """`envs` are the stages of a sequence, or the tasks that `chooser` takes from; else one."""

    envs: tuple[ResolvedEnv, ...]
    sequencer: Sequencer | None = None
    chooser: TaskChooser | None = None
    warnings: tuple[str, ...] = ()

    @property
    def curriculum(self) -> Sequencer | TaskChooser | None:
        return self.sequencer or self.chooser

    def choose_backend(
        self,
        num_envs: int,
        requested: str,
        *,
        video: bool,
        cpus: int | None = None,
        pooled_games: bool = False,
    ) -> str:
        """Return the backend of the run; of a curriculum one that every environment has."""
        if self.chooser is not None and requested not in (AUTO, SYNC):
            raise ConfigError(
                f"env_backend={requested!r} cannot be used with extras.curriculum: its tasks are "
                "chosen in this process.",
                hint=f"Use env_backend={SYNC!r}.",
            )
        if self.chooser is not None:
            requested = SYNC
        chosen = {
            choose_backend(
                env, num_envs, requested, video=video, cpus=cpus or 1, pooled_games=pooled_games
            )
            for env in self.envs
        }
        return chosen.pop() if len(chosen) == 1 else SYNC

    def check(self) -> int | None:
        """Refuse stages whose spaces differ; return the longest that an episode can last."""
        found = [_spaces_of(env) for env in self.envs] if len(self.envs) > 1 else []
        for env, spaces in zip(self.envs, found, strict=False):
            _check_same(self.envs[0], found[0], env, spaces)
        limits = [spaces.max_episode_steps for spaces in found]
        known = [limit for limit in limits if limit is not None]
        return max(known) if limits and len(known) == len(limits) else None

    def build(
        self,
        num_envs: int,
        *,
        backend: str,
        video_dir: Path | None,
        normalise: Normalisation | None,
        cpus: int | None,
        view: View | None,
    ) -> EnvBatch:
        """Build the batch; a curriculum's normaliser outlives its stages."""

        def build_stage(index: int) -> EnvBatch:
            return build_envs(
                self.envs[index],
                num_envs,
                backend=backend,
                video_dir=video_dir,
                cpus=cpus,
                view=view,
            )

        if self.sequencer is not None:
            envs: EnvBatch = StagedEnvs(build_stage, self.sequencer)
        elif self.chooser is not None:
            envs = self.chooser.build(self.envs, num_envs, view)
        else:
            envs = build_stage(0)
        if normalise is None:
            return envs
        return normalised(envs, normalise.what, gamma=normalise.gamma, frozen=normalise.frozen)


def plan_stages(env: ResolvedEnv, options: RunOptions, allowed_modules: Sequence[str]) -> Staging:
    """Resolve the environments that the options name; all are seen as the run's own is."""
    given = {
        "curriculum_schedule": _decoded("curriculum_schedule", options.curriculum_schedule),
        "curriculum": _decoded("curriculum", options.curriculum),
    }
    check_curriculum(given, options.env_id)

    def resolved(env_ids: Sequence[str]) -> tuple[ResolvedEnv, ...]:
        return tuple(resolve(env_id, allowed_modules, env.sight) for env_id in env_ids)

    if given["curriculum_schedule"] is not None:
        stages = parse_schedule(given["curriculum_schedule"])
        sequencer = Sequencer(stages)
        envs = resolved([stage.env_id for stage in stages])
        return Staging(envs, sequencer, warnings=_budget_warnings(sequencer, options))
    if given["curriculum"] is not None:
        from cleanrl_worker.wrappers.syllabus import TaskChooser

        automatic = parse_automatic(given["curriculum"])
        chooser = TaskChooser(automatic.method, automatic.tasks, options.seed)
        return Staging(resolved(automatic.tasks), chooser=chooser)
    return Staging((env,))


def _decoded(name: str, text: str | None) -> Any:
    try:
        return None if text is None else json.loads(text)
    except ValueError as error:
        raise ConfigError(f"{name} is not JSON: {error}.") from None


def _spaces_of(env: ResolvedEnv) -> Spaces:
    twin = make(env)
    observations = ObservationEncoder(twin.observation_space, env.id).space
    spaces = Spaces(observations, twin.action_space, episode_limit(twin))
    twin.close()
    return spaces


def _check_same(first: ResolvedEnv, wanted: Spaces, env: ResolvedEnv, found: Spaces) -> None:
    for what, one, other in (
        ("observation", wanted.observations, found.observations),
        ("action", wanted.actions, found.actions),
    ):
        if one != other:
            raise ConfigError(
                f"The curriculum's environments differ: {env.id!r} has the {what} space {other}, "
                f"{first.id!r} has {one}. One policy must fit all of them.",
                hint="Use environments with the same spaces.",
            )


def _budget_warnings(sequencer: Sequencer, options: RunOptions) -> tuple[str, ...]:
    """Warn of a budget that may end before the last stage begins."""
    bounds = [_longest(stage.condition) for stage in sequencer.stages[:-1]]
    known = [bound for bound in bounds if bound is not None]
    if len(known) < len(bounds):
        return ()
    if sum(known) < options.total_timesteps:
        return ()
    last = sequencer.stages[-1].env_id
    warning = (
        f"The stages before {last} may take {sum(known):,} steps of the run's "
        f"{options.total_timesteps:,}: it may never come to {last}."
    )
    return (warning,)


def _longest(condition: Any) -> int | None:
    """Return the most steps that a stage can take, where a number of steps ends it."""
    bounds = [
        comparison.value
        for alternative in condition.alternatives
        for comparison in alternative
        if len(alternative) == 1 and comparison.metric == "steps" and comparison.sign in (">=", ">")
    ]
    return int(min(bounds)) if bounds else None
