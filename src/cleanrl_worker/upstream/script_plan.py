"""The launch of a script: the bundle's interpreter, the checkout, and the start-up hook."""

from __future__ import annotations

import os
import secrets
import subprocess
from pathlib import Path

from cleanrl_worker.arguments import tensorboard_dir, warnings_of
from cleanrl_worker.config import CleanRLWorkerConfig
from cleanrl_worker.plan import DRAWN_SEEDS, LaunchPlan
from cleanrl_worker.upstream.hook import DRY_RUN, PURPOSE_VARIABLE
from cleanrl_worker.upstream.script_flags import build_script_flags
from cleanrl_worker.upstream.session import FOLDER_VARIABLE
from mosaic.contracts.bundles import Bundle
from mosaic.contracts.checkouts import find_home, find_script, script_schema
from mosaic.contracts.needs import bundle_of
from mosaic.contracts.paths import VarPaths
from mosaic.workers.bundle_code import link_code

_GIT_TIMEOUT_S = 10


def plan_script(config: CleanRLWorkerConfig) -> LaunchPlan:
    """Resolve a config whose algorithm is a script; nothing of the checkout is touched."""
    home = find_home(config.extras, config.algo)
    script = script_schema(home, config.algo)
    if config.seed is None:
        config = config.with_seed(secrets.randbelow(DRAWN_SEEDS))
    bundle = bundle_of(VarPaths.default(), config.algo, config.options)
    assert bundle is not None, "a script always has one"
    return LaunchPlan(
        config,
        script,
        tuple(build_script_flags(config, script)),
        (*warnings_of(config), *_warnings(bundle)),
        launcher=(str(bundle.python), str(find_script(home, config.algo))),
        callable="__main__",
        bundle=bundle,
        code=(Path(__file__).parent / "site", link_code(bundle, "cleanrl_worker"), home.resolve()),
        variables=_variables(config),
        dry_run_variables={PURPOSE_VARIABLE: DRY_RUN},
        packages={"cleanrl": _revision(home), **bundle.packages},
        is_script=True,
    )


def _variables(config: CleanRLWorkerConfig) -> dict[str, str]:
    return {
        PURPOSE_VARIABLE: "train",
        FOLDER_VARIABLE: tensorboard_dir(config.options) or "",
        # The checkout stays as it is; the bundle's own bytecode was written when it was made.
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def _warnings(bundle: Bundle) -> list[str]:
    version = bundle.packages.get("gymnasium", "")
    if version.startswith("0."):
        return []
    warning = (
        f"bundle={bundle.name!r} has gymnasium {version}: CleanRL's own scripts need 0.29; on "
        "later ones they log no episode and learn from reset steps."
    )
    return [warning]


def _revision(home: Path) -> str:
    """Return the commit of the checkout; asking git for more would write to its index."""
    try:
        done = subprocess.run(
            ["git", "-C", str(home), "rev-parse", "--short=8", "HEAD"],
            env={**os.environ, "GIT_OPTIONAL_LOCKS": "0"},
            capture_output=True,
            text=True,
            timeout=_GIT_TIMEOUT_S,
        )
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"
    return done.stdout.strip() or "unknown"
