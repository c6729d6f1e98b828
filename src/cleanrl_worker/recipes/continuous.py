"""Recipes that learn continuous actions from replay."""

from __future__ import annotations

from typing import Any

from cleanrl_worker.recipes.recipe import CLEANRL, SMOKE_CONTINUOUS, SMOKE_REPLAY, Recipe
from mosaic.contracts.schema import TunedRow

_OFF_POLICY_CONTINUOUS: dict[str, Any] = {
    "env_families": ("gymnasium", "mujoco"),
    "source": f"{CLEANRL}; the v5 environment in place of v4",
    "actions": "box",
    "extras": ("mujoco",),
    "overrides": {"env_id": "Hopper-v5", "total_timesteps": 1_000_000},
    "smoke": SMOKE_REPLAY | SMOKE_CONTINUOUS,
}


def _starts_early(total_timesteps: int, measured: str, **own: float) -> tuple[TunedRow, ...]:
    """Return the row for Pendulum, which needs no long random phase and no far sight.

    With a discount of 0.99 policies lapse: between two updates they lose some of the starts.
    """
    values = {"total_timesteps": total_timesteps, "learning_starts": 1000, "gamma": 0.95, **own}
    ours = "discount and rates are" if own else "the shorter discount is"
    source = (
        f"measured with CleanRL's {measured} at {total_timesteps // 1000}k steps, two seeds; "
        f"{ours} ours, against lapses"
    )
    return (TunedRow("Pendulum-v1", values, source),)


CONTINUOUS = (
    Recipe(
        name="ddpg_continuous_action",
        algorithm="ddpg",
        summary="Deep deterministic policy gradient.",
        sibling="dqn",
        tuned=_starts_early(10_000, "ddpg_continuous_action: -215"),
        **_OFF_POLICY_CONTINUOUS,
    ),
    Recipe(
        name="td3_continuous_action",
        algorithm="td3",
        summary="Twin delayed deterministic policy gradient.",
        sibling="dqn",
        tuned=_starts_early(10_000, "td3_continuous_action: -201"),
        **_OFF_POLICY_CONTINUOUS,
    ),
    Recipe(
        name="sac_continuous_action",
        algorithm="sac",
        summary="Soft actor-critic with a learned entropy weight.",
        sibling="dqn",
        # With 0.95 its policy still lapsed: see docs/benchmarks/learning.md.
        tuned=_starts_early(
            8_000, "sac_continuous_action: -156", gamma=0.9, policy_lr=0.001, tau=0.01
        ),
        **_OFF_POLICY_CONTINUOUS,
    ),
)
