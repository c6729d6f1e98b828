"""What somebody asks to step by hand: an environment, and perhaps a policy that acts in it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mosaic.contracts.errors import ConfigError
from mosaic.contracts.extras import check_reserved
from mosaic.contracts.identifiers import check_run_id, new_run_id
from mosaic.contracts.parameters import Parameter
from mosaic.contracts.saved_states import describe_policy
from mosaic.contracts.settings import OperatorSettings, check_env_id
from mosaic.contracts.worker_config import MAX_SEED, check_text, extract_worker_config

MODE = "interactive"
DRAWN_DIM = 480  # pixels a side
_SEED = Parameter("seed", "int", None, "", optional=True, range=(0, MAX_SEED))


@dataclass(frozen=True, slots=True)
class InteractiveRequest:
    """A session to be; without a policy somebody else chooses every action."""

    run_id: str
    env_id: str
    algo: str | None = None
    policy_path: Path | None = None
    seed: int | None = None
    deterministic: bool = True
    is_drawn: bool = True
    max_dim: int = DRAWN_DIM

    def to_json(self) -> dict[str, Any]:
        return {
            "run_id": self.run_id,
            "env_id": self.env_id,
            "algo": self.algo,
            "policy_path": None if self.policy_path is None else str(self.policy_path),
        }


def read_request(
    document: Any, overrides: Mapping[str, Any], settings: OperatorSettings
) -> InteractiveRequest:
    """Read a config, if there is one, with the command line's values over it."""
    config = {} if document is None else extract_worker_config(document)
    config |= {key: value for key, value in overrides.items() if value is not None}
    extras = {**(config.get("extras") or {}), **(overrides.get("extras") or {})}
    options = check_reserved(extras)
    policy = _policy(options.get("policy_path"))
    described = None if policy is None else describe_policy(policy)
    env_id = config.get("env_id") or (described and described.env_id)
    algo = config.get("algo") or (described and described.algo)
    if not env_id:
        raise ConfigError("env_id is missing: name the environment with --env-id.")
    if policy is not None and not algo:
        raise ConfigError(
            f"algo is missing: nothing beside the policy {str(policy)!r} names it.",
            hint="Give --algo.",
        )
    env_id = check_text("env_id", env_id)
    check_env_id(env_id, settings)
    deterministic = options.get("eval_deterministic")
    return InteractiveRequest(
        run_id=check_run_id(config.get("run_id") or new_run_id()),
        env_id=env_id,
        algo=None if algo is None else check_text("algo", algo),
        policy_path=policy,
        seed=_SEED.check(config.get("seed")),
        deterministic=True if deterministic is None else bool(deterministic),
        is_drawn=options.get("fastlane_video_mode") != "off",
        max_dim=options.get("fastlane_max_dim") or DRAWN_DIM,
    )


def _policy(given: Any) -> Path | None:
    if not given:
        return None
    path = Path(os.path.abspath(check_text("policy_path", given)))
    if not path.exists():
        raise ConfigError(f"policy_path={given!r} does not exist: {str(path)!r}.")
    return path
