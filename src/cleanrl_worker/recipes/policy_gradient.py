"""Recipes that learn a policy from what it has just done: PPO and its kin."""

from __future__ import annotations

from typing import Any

from cleanrl_worker.recipes.recipe import (
    ATARI,
    CLEANRL,
    ON_BREAKOUT,
    ON_POOLED_BREAKOUT,
    POOLED,
    SMOKE_CONTINUOUS,
    SMOKE_ROLLOUT,
    Recipe,
)
from mosaic.contracts.schema import TunedRow

_MEASURED = "measured with CleanRL's ppo: {} steps, two seeds"
_ZOO = "RL Baselines3 Zoo, measured with CleanRL's ppo: 500 at 100k steps, two seeds"
_PPO_CONTINUOUS: dict[str, Any] = {
    "learning_rate": 3e-4,
    "num_envs": 1,
    "num_steps": 2048,
    "num_minibatches": 32,
    "update_epochs": 10,
    "ent_coef": 0.0,
}

_PROCGEN: dict[str, Any] = {
    "env_families": ("procgen",),
    "source": CLEANRL,
    "actions": "discrete",
    "normalise": "rewards",
    "extras": ("procgen",),
}
_ON_STARPILOT: dict[str, Any] = {
    "env_id": "starpilot",
    "total_timesteps": 25_000_000,
    "learning_rate": 5e-4,
    "num_envs": 64,
    "num_steps": 256,
    "anneal_lr": False,
    "gamma": 0.999,
    "num_minibatches": 8,
}

POLICY_GRADIENT = (
    Recipe(
        name="ppo",
        algorithm="ppo",
        summary="Proximal policy optimisation for discrete actions.",
        env_families=("gymnasium", "minigrid", "babyai"),
        source=CLEANRL,
        actions="discrete",
        sibling="ppo_continuous_action",
        omits=("rpo_alpha",),
        overrides={"env_id": "CartPole-v1", "total_timesteps": 500_000},
        tuned=(
            TunedRow(
                "CartPole-v1",
                {
                    "total_timesteps": 100_000,
                    "num_envs": 8,
                    "num_steps": 32,
                    "num_minibatches": 1,
                    "update_epochs": 20,
                    "gae_lambda": 0.8,
                    "gamma": 0.98,
                    "learning_rate": 0.001,
                    "ent_coef": 0.0,
                },
                _ZOO,
            ),
            TunedRow(
                "MiniGrid-Empty-5x5-v0",
                {"total_timesteps": 30_000, "num_envs": 8, "learning_rate": 0.001},
                _MEASURED.format("0.95 at 30k"),
            ),
            TunedRow(
                "MiniGrid-DoorKey-5x5-v0",
                {"total_timesteps": 100_000, "num_envs": 8, "learning_rate": 0.001},
                _MEASURED.format("0.96 at 100k"),
            ),
            TunedRow(
                "BabyAI-GoToRedBallNoDists-v0",
                {"total_timesteps": 200_000, "num_envs": 16, "learning_rate": 0.001},
                _MEASURED.format("0.92 at 200k"),
            ),
        ),
        smoke={"total_timesteps": 64, "num_envs": 2, "num_steps": 16},
    ),
    Recipe(
        name="ppo_atari",
        algorithm="ppo",
        summary="Proximal policy optimisation for Atari games.",
        omits=("shared_trunk", "rpo_alpha"),
        overrides=ON_BREAKOUT | {"num_envs": 8, "clip_coef": 0.1},
        smoke=SMOKE_ROLLOUT,
        **ATARI,
    ),
    Recipe(
        name="ppo_atari_envpool",
        algorithm="ppo",
        summary="Proximal policy optimisation for Atari games in envpool.",
        omits=("shared_trunk", "rpo_alpha"),
        overrides=ON_POOLED_BREAKOUT | {"clip_coef": 0.1},
        tuned=(
            TunedRow(
                "Pong-v5",
                {
                    "total_timesteps": 3_000_000,
                    "num_envs": 64,
                    "num_steps": 32,
                    "num_minibatches": 8,
                    "learning_rate": 0.0005,
                },
                "ours: 18 at 3M steps, one seed, in six minutes on one GPU and 16 cores",
            ),
        ),
        smoke=SMOKE_ROLLOUT,
        **POOLED,
    ),
    Recipe(
        name="ppo_atari_multigpu",
        algorithm="ppo_multigpu",
        summary="Proximal policy optimisation in several processes, on several GPUs or cores.",
        env_families=("atari", "gymnasium", "minigrid", "babyai"),
        source=CLEANRL,
        actions="discrete",
        is_shared=True,
        omits=("num_envs", "shared_trunk", "rpo_alpha"),
        extras=("atari",),
        overrides=ON_BREAKOUT | {"clip_coef": 0.1},
        smoke={
            "env_id": "FrozenLake-v1",
            "total_timesteps": 64,
            "local_num_envs": 1,
            "num_steps": 16,
            "num_minibatches": 2,
            "update_epochs": 2,
        },
    ),
    Recipe(
        name="ppo_rnd_envpool",
        algorithm="ppo_rnd",
        summary="Proximal policy optimisation that explores: random network distillation.",
        omits=("shared_trunk", "rpo_alpha"),
        overrides={
            "env_id": "ALE/MontezumaRevenge-v5",
            "total_timesteps": 2_000_000_000,
            "learning_rate": 1e-4,
            "num_envs": 128,
            "gamma": 0.999,
            "clip_coef": 0.1,
            "ent_coef": 0.001,
        },
        smoke=SMOKE_ROLLOUT | {"num_iterations_obs_norm_init": 1},
        **POOLED
        | {
            "env_families": ("atari", "gymnasium", "minigrid", "babyai"),
            "source": f"{CLEANRL}; the id with sticky actions, which it sets itself",
        },
    ),
    Recipe(
        name="ppo_pettingzoo_ma_atari",
        algorithm="ppo",
        summary="Proximal policy optimisation against itself, in Atari games of several players.",
        env_families=("pettingzoo",),
        source=CLEANRL,
        actions="discrete",
        omits=("shared_trunk", "rpo_alpha"),
        extras=("pettingzoo",),
        overrides={
            "env_id": "pong_v3",
            "total_timesteps": 20_000_000,
            "num_envs": 16,
            "clip_coef": 0.1,
        },
        smoke=SMOKE_ROLLOUT,
    ),
    Recipe(
        name="ppo_procgen",
        algorithm="ppo",
        summary="Proximal policy optimisation for Procgen's games.",
        omits=("shared_trunk", "rpo_alpha"),
        overrides=_ON_STARPILOT | {"update_epochs": 3},
        smoke=SMOKE_ROLLOUT,
        **_PROCGEN,
    ),
    Recipe(
        name="ppg_procgen",
        algorithm="ppg",
        summary="Phasic policy gradient: policy and value features learned in turns.",
        omits=("update_epochs", "norm_adv", "shared_trunk", "rpo_alpha"),
        overrides=_ON_STARPILOT,
        smoke={
            "total_timesteps": 64,
            "num_envs": 2,
            "num_steps": 8,
            "num_minibatches": 2,
            "n_iteration": 2,
            "e_auxiliary": 2,
            "num_aux_rollouts": 2,
        },
        **_PROCGEN,
    ),
    Recipe(
        name="ppo_continuous_action",
        algorithm="ppo",
        summary="Proximal policy optimisation for continuous actions.",
        env_families=("gymnasium", "mujoco"),
        source=f"{CLEANRL}; the v5 environment in place of v4",
        actions="box",
        sibling="ppo",
        normalise="all",
        omits=("shared_trunk", "rpo_alpha"),
        extras=("mujoco",),
        overrides={
            **_PPO_CONTINUOUS,
            "env_id": "HalfCheetah-v5",
            "total_timesteps": 1_000_000,
        },
        smoke=SMOKE_CONTINUOUS | {"num_steps": 16, "num_minibatches": 4},
    ),
    Recipe(
        name="rpo_continuous_action",
        algorithm="ppo",
        summary="Robust policy optimisation: PPO with perturbed means.",
        env_families=("gymnasium", "mujoco"),
        source=f"{CLEANRL}; the v5 environment in place of v4",
        actions="box",
        sibling="ppo",
        normalise="all",
        omits=("shared_trunk",),
        extras=("mujoco",),
        overrides={
            **_PPO_CONTINUOUS,
            "env_id": "HalfCheetah-v5",
            "total_timesteps": 8_000_000,
            "rpo_alpha": 0.5,
        },
        tuned=(
            TunedRow(
                "Pendulum-v1",
                {
                    "total_timesteps": 150_000,
                    "gamma": 0.9,
                    "num_envs": 4,
                    "num_steps": 512,
                    "learning_rate": 0.001,
                },
                "measured with CleanRL's rpo_continuous_action: -285 at 150k steps, two seeds",
            ),
        ),
        smoke=SMOKE_CONTINUOUS | {"num_steps": 16, "num_minibatches": 4},
    ),
)
