"""What a run needs installed, told before it is accepted: by its algorithm, its environment's id,
and its options. What only making the environment tells is left to the dry run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from mosaic.contracts.bundles import (
    CLEANRL_BUNDLE,
    CLEANRL_PROFILE,
    Bundle,
    check_bundle_name,
    find_bundle,
)
from mosaic.contracts.checkouts import is_script
from mosaic.contracts.errors import DependencyMissing
from mosaic.contracts.installed import missing_modules
from mosaic.contracts.paths import VarPaths
from mosaic.contracts.schema import AlgorithmSchema

# Ids that one package alone brings.
_EXTRA_OF_ID = (
    (re.compile(r"ALE/|.*NoFrameskip-v\d"), "atari"),
    (re.compile(r"(MiniGrid|BabyAI)-"), "minigrid"),
    (re.compile(r"dm_control/"), "dm-control"),
    (re.compile(r"(LunarLander(Continuous)?|BipedalWalker(Hardcore)?|CarRacing)-v\d"), "box2d"),
    (
        re.compile(
            r"(Ant|HalfCheetah|Hopper|Humanoid(Standup)?|Inverted(Double)?Pendulum|Pusher|Reacher"
            r"|Swimmer|Walker2d)-v\d"
        ),
        "mujoco",
    ),
)
_EXTRA_OF_OPTION = {
    "capture_video": "video",
    "eval_capture_video": "video",
    "track_wandb": "wandb",
}


def bundle_of(paths: VarPaths, algo: str, extras: Mapping[str, Any]) -> Bundle | None:
    """Return the bundle that a run's algorithm process lives in; None: MOSAIC's own packages."""
    name = extras.get("bundle")
    if name is None:
        return find_bundle(paths, CLEANRL_BUNDLE) if is_script(algo) else None
    return find_bundle(paths, check_bundle_name(name))


def needed_extras(
    algorithm: AlgorithmSchema, env_id: str, options: Mapping[str, Any]
) -> dict[str, str]:
    """Return the extras that a run needs, and what needs each."""
    needed = dict.fromkeys(algorithm.extras, f"algo={algorithm.name!r}")
    for pattern, extra in _EXTRA_OF_ID:
        if pattern.match(env_id):
            needed.setdefault(extra, f"env_id={env_id!r}")
    for option, extra in _EXTRA_OF_OPTION.items():
        if options.get(option):
            needed.setdefault(extra, f"extras.{option}=true")
    return needed


def check_needs(
    algorithm: AlgorithmSchema, env_id: str, options: Mapping[str, Any], bundle: Bundle | None
) -> None:
    """Refuse a run that lacks a package; the line names the extra and the command."""
    if bundle is not None and bundle.profile == CLEANRL_PROFILE:
        _refuse_recipe(algorithm, bundle)
        return
    for extra, needing in needed_extras(algorithm, env_id, options).items():
        if bundle is None and missing_modules(extra):
            raise DependencyMissing(
                f"{needing} needs {', '.join(missing_modules(extra))}, which is not installed.",
                hint=f"Install it with: pip install 'mosaic-rl[{extra}]'",
            )
        if bundle is not None and extra not in bundle.satisfies and not is_script(algorithm.name):
            extras = " ".join(f"--extra {each}" for each in (*bundle.extras, extra))
            raise DependencyMissing(
                f"{needing} needs the extra {extra!r}, which bundle={bundle.name!r} lacks.",
                hint=f"Make another: mosaic bundle create NAME {extras}",
            )


def _refuse_recipe(algorithm: AlgorithmSchema, bundle: Bundle) -> None:
    if not is_script(algorithm.name):
        raise DependencyMissing(
            f"bundle={bundle.name!r} holds CleanRL's packages, which {algorithm.name!r} of MOSAIC "
            "does not run on.",
            hint=f"Use algo='cleanrl:{algorithm.name}', or a bundle made with --extra.",
        )
