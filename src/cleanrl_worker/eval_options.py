"""The options of a policy evaluation, as the evaluator's flags."""

from __future__ import annotations

from dataclasses import dataclass

from mosaic.contracts.extras import EVALUATION_EVENT_FILES
from mosaic.contracts.parameters import param


@dataclass(frozen=True)
class EvalOptions:
    policy_path: str = param("", "Saved policy or checkpoint to evaluate.", group="run")
    env_id: str | None = param(None, "Environment id; the policy's own when absent.", group="run")
    seed: int = param(1, "Seed of the episodes.", range=(0, 2**32 - 1), group="run")
    eval_batch_size: int = param(
        50, "Episodes of a batch.", range=(1, None), unit="episodes", group="evaluation"
    )
    eval_repeat: bool = param(
        False, "Evaluate batch after batch until stopped.", group="evaluation"
    )
    eval_gamma: float | None = param(
        None, "Discount of the discounted return.", range=(0, 1), group="evaluation"
    )
    eval_deterministic: bool = param(
        True, "Take the most probable action instead of sampling.", group="evaluation"
    )
    eval_max_episode_steps: int | None = param(
        None, "Cut episodes at this length.", range=(1, None), unit="steps", group="evaluation"
    )
    eval_max_episode_seconds: float | None = param(
        None, "Cut episodes after this time.", range=(0, None), unit="s", group="evaluation"
    )
    eval_capture_video: bool = param(False, "Film every episode.", group="evaluation")
    tensorboard_dir: str | None = param(
        EVALUATION_EVENT_FILES, "Folder of the event files; None: no event files.", group="tracking"
    )
    torch_threads: int = param(1, "Threads of a torch operation.", range=(1, 256), group="run")
    cuda: bool = param(False, "Use a GPU.", group="run")
    dry_run: bool = param(False, "Load the policy, take one step, evaluate nothing.", group="run")
