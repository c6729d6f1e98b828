"""Recipes that remember: with a recurrent network or a transformer."""

from __future__ import annotations

from cleanrl_worker.envs.sight import Sight
from cleanrl_worker.recipes.recipe import (
    CLEANRL,
    ON_BREAKOUT,
    ON_POOLED_BREAKOUT,
    POOLED,
    SMOKE_ROLLOUT,
    Recipe,
)
from mosaic.contracts.schema import TunedRow

RECURRENT = (
    Recipe(
        name="ppo_atari_lstm",
        algorithm="ppo_lstm",
        summary="Proximal policy optimisation with a long short-term memory.",
        env_families=("atari", "gymnasium", "minigrid", "babyai"),
        source=CLEANRL,
        actions="discrete",
        sight=Sight(frame_stack=1),
        extras=("atari",),
        overrides=ON_BREAKOUT,
        smoke=SMOKE_ROLLOUT,
    ),
    Recipe(
        name="pqn_atari_envpool_lstm",
        algorithm="pqn_lstm",
        summary="Parallelised Q-network with a long short-term memory, in envpool.",
        sight=Sight(frame_stack=1),
        overrides=ON_POOLED_BREAKOUT,
        smoke=SMOKE_ROLLOUT,
        **POOLED | {"env_families": ("atari", "gymnasium")},
    ),
    Recipe(
        name="ppo_trxl",
        algorithm="ppo_trxl",
        summary="Proximal policy optimisation with a Transformer-XL as memory.",
        env_families=("memory_gym", "gymnasium", "minigrid", "atari"),
        source=CLEANRL,
        actions="branches",
        sight=Sight(frame_stack=1, grid_pixels=True),
        overrides={"env_id": "MortarMayhem-Grid-v0", "total_timesteps": 200_000_000},
        tuned=(
            TunedRow(
                "ProofofMemory-v0",
                {
                    "total_timesteps": 25_000,
                    "num_envs": 16,
                    "num_steps": 128,
                    "num_minibatches": 8,
                    "update_epochs": 4,
                    "trxl_num_layers": 4,
                    "trxl_num_heads": 1,
                    "trxl_dim": 64,
                    "trxl_memory_length": 16,
                    "trxl_positional_encoding": "none",
                    "vf_coef": 0.1,
                    "max_grad_norm": 0.5,
                    "init_lr": 3e-4,
                    "init_ent_coef": 0.001,
                    "clip_coef": 0.2,
                },
                "CleanRL's documentation of ppo_trxl",
            ),
        ),
        smoke=SMOKE_ROLLOUT
        | {
            "env_id": "ProofofMemory-v0",
            "trxl_num_layers": 2,
            "trxl_num_heads": 2,
            "trxl_dim": 16,
            "trxl_memory_length": 6,
        },
    ),
)
