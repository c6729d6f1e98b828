"""What is played by hand or by a policy, and the worker's flags that ask for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mosaic.contracts.capabilities import WorkerCapabilities
from mosaic.contracts.continuation import find_saved_policy
from mosaic.contracts.errors import ConfigError, NotFound
from mosaic.contracts.saved_states import describe_policy
from mosaic.contracts.worker_config import extract_worker_config

# The worker that steps environments for others.
PLAYING_WORKER = "cleanrl"


@dataclass(frozen=True, slots=True)
class PlayRequest:
    """An environment, and the policy that acts in it; without one a person does."""

    env_id: str
    algo: str | None = None
    policy: Path | None = None
    is_sampled: bool = False
    is_drawn: bool = True

    def flags(self) -> list[str]:
        """Return the flags of `cleanrl-worker --interactive`."""
        flags = ["--interactive", "--env-id", self.env_id]
        if self.algo is not None:
            flags += ["--algo", self.algo]
        if self.policy is not None:
            flags += ["--policy-path", str(self.policy)]
        extras = []
        if self.is_sampled:
            extras.append('"eval_deterministic": false')
        if not self.is_drawn:
            extras.append('"fastlane_video_mode": "off"')
        return [*flags, "--extras", f"{{{', '.join(extras)}}}"] if extras else flags

    @property
    def title(self) -> str:
        return self.env_id if self.algo is None else f"{self.algo} on {self.env_id}"


def play_run(
    run_config: Mapping[str, Any],
    run_dir: Path,
    *,
    from_step: int | None = None,
    env_id: str | None = None,
    **options: bool,
) -> PlayRequest:
    """Play what a run has learned: its policy, or a checkpoint."""
    config = extract_worker_config(run_config)
    policy = find_saved_policy(config, run_dir, from_step)
    return PlayRequest(env_id or str(config["env_id"]), str(config["algo"]), policy, **options)


def play_policy(
    policy: Path, *, algo: str | None = None, env_id: str | None = None, **options: bool
) -> PlayRequest:
    """Play a policy file or a checkpoint by itself."""
    if not policy.exists():
        raise NotFound(f"The policy {str(policy)!r} does not exist.")
    described = describe_policy(policy)
    algo, env_id = algo or described.algo, env_id or described.env_id
    for name, value in (("algo", algo), ("env_id", env_id)):
        if not value:
            raise ConfigError(
                f"{name} is missing: nothing beside the policy {str(policy)!r} names it.",
                hint=f"Give --{name.replace('_', '-')}.",
            )
    assert env_id is not None
    return PlayRequest(env_id, algo, policy.absolute(), **options)


def playing_module(workers: list[WorkerCapabilities]) -> str:
    """Return the module that is started to play."""
    for worker in workers:
        if worker.worker_type == PLAYING_WORKER:
            return worker.module
    raise NotFound("The CleanRL worker, which steps environments, is not available.")
