"""The environment of an interactive session, and the policy that acts in it, if there is one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cleanrl_worker.envs.registry import resolve
from cleanrl_worker.evaluation_env import Stage
from cleanrl_worker.interactive_request import InteractiveRequest
from mosaic.contracts.paths import VarPaths
from mosaic.contracts.settings import load_settings

if TYPE_CHECKING:
    from cleanrl_worker.policies import Policy


def build_stage(request: InteractiveRequest) -> tuple[Stage, Policy | None]:
    """Build both; torch is loaded for a policy alone."""
    drawn = request.max_dim if request.is_drawn else None
    if request.policy_path is None:
        modules = load_settings(VarPaths.default().settings).env_modules
        return Stage(resolve(request.env_id, modules), draw_dim=drawn), None
    assert request.algo is not None
    from cleanrl_worker.eval_preparation import prepare_evaluation

    flags = [f"--policy-path={request.policy_path}", f"--env-id={request.env_id}"]
    prepared = prepare_evaluation(request.algo, flags, draw_dim=drawn)
    return prepared.stage, prepared.policy.choose
