"""Recipes in JAX: the settings of their twins in torch, on flax and optax."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from cleanrl_worker.recipes.action_values import ACTION_VALUES
from cleanrl_worker.recipes.continuous import CONTINUOUS
from cleanrl_worker.recipes.recipe import CLEANRL, ON_BREAKOUT, Recipe

_TWINS = {recipe.name: recipe for recipe in (*ACTION_VALUES, *CONTINUOUS)}

_TORCHS_OWN = ("compile", "cudagraphs")
_SIBLINGS = {"discrete": "ddpg_continuous_action_jax", "box": "dqn_jax"}

_STEPS_INSIDE: dict[str, Any] = {
    "algorithm": "ppo_jax",
    "env_families": ("atari",),
    "source": CLEANRL,
    "actions": "discrete",
    "framework": "jax",
    "pooled_games": True,
    "steps_inside": True,
    "extras": ("atari", "envpool", "jax"),
}
_ON_POOLED_BREAKOUT: dict[str, Any] = ON_BREAKOUT | {"env_id": "Breakout-v5"}
_SMOKE_ROLLOUT: dict[str, Any] = {
    "total_timesteps": 64,
    "num_envs": 2,
    "num_steps": 8,
    "num_minibatches": 2,
    "update_epochs": 2,
}


def _in_jax(name: str, twin: str, algorithm: str, **changes: Any) -> Recipe:
    """Return a recipe with the settings of its twin."""
    recipe = _TWINS[twin]
    has_device_envs = "atari" not in recipe.env_families
    omits = (*recipe.omits, *_TORCHS_OWN, *(() if has_device_envs else ("num_seeds",)))
    return replace(
        recipe,
        name=name,
        algorithm=algorithm,
        framework="jax",
        sibling=_SIBLINGS[recipe.actions],
        extras=(*recipe.extras, "jax"),
        omits=omits,
        smoke=recipe.smoke if has_device_envs else {**recipe.smoke, "train_frequency": 16},
        **changes,
    )


IN_JAX = (
    _in_jax("dqn_jax", "dqn", "dqn_jax", summary="Deep Q-learning in JAX."),
    _in_jax(
        "dqn_atari_jax", "dqn_atari", "dqn_jax", summary="Deep Q-learning for Atari games in JAX."
    ),
    _in_jax(
        "qdagger_dqn_atari_jax_impalacnn",
        "qdagger_dqn_atari_impalacnn",
        "qdagger_jax",
        summary="Deep Q-learning in JAX with IMPALA's network, taught by a teacher.",
        overrides={
            **_TWINS["qdagger_dqn_atari_impalacnn"].overrides,
            "teacher_model_exp_name": "dqn_atari_jax",
        },
    ),
    _in_jax(
        "c51_jax",
        "c51",
        "c51_jax",
        summary="Categorical deep Q-learning in JAX: distributions of returns.",
    ),
    _in_jax(
        "c51_atari_jax",
        "c51_atari",
        "c51_jax",
        summary="Categorical deep Q-learning for Atari games in JAX.",
    ),
    _in_jax(
        "ddpg_continuous_action_jax",
        "ddpg_continuous_action",
        "ddpg_jax",
        summary="Deep deterministic policy gradient in JAX.",
    ),
    _in_jax(
        "td3_continuous_action_jax",
        "td3_continuous_action",
        "td3_jax",
        summary="Twin delayed deterministic policy gradient in JAX.",
    ),
    Recipe(
        name="ppo_atari_envpool_xla_jax",
        summary="Proximal policy optimisation in JAX, with envpool's Atari games in the rollout.",
        omits=("scan", *_TORCHS_OWN),
        overrides=_ON_POOLED_BREAKOUT,
        smoke=_SMOKE_ROLLOUT,
        **_STEPS_INSIDE,
    ),
    Recipe(
        name="ppo_atari_envpool_xla_jax_scan",
        summary="The same with compiled loops, which take a fraction of the time to compile.",
        omits=_TORCHS_OWN,
        overrides=_ON_POOLED_BREAKOUT | {"scan": True},
        smoke=_SMOKE_ROLLOUT,
        **_STEPS_INSIDE,
    ),
)
