"""The recipes: one row of data for every registry name.

Flags, schema, forms, validation, search spaces, docs and the registry test derive from this table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from mosaic.contracts.errors import ConfigError, suggest
from mosaic.contracts.schema import TunedRow

_CLEANRL = "CleanRL fe8d8a03"
_MEASURED = "measured with CleanRL's ppo: {} steps, two seeds"
_ZOO = "RL Baselines3 Zoo, measured with CleanRL's ppo: 500 at 100k steps, two seeds"


@dataclass(frozen=True, slots=True)
class Recipe:
    """One registry name.

    `overrides` are its defaults of run options and hyperparameters; `omits` names parameters of
    the algorithm that it does not have; `sibling` is the name for the other kind of actions;
    `normalise` brings observations and rewards to one scale.
    """

    name: str
    algorithm: str
    summary: str
    env_families: tuple[str, ...]
    source: str
    actions: Literal["discrete", "box"]
    sibling: str | None = None
    normalise: bool = False
    omits: tuple[str, ...] = ()
    extras: tuple[str, ...] = ()
    overrides: Mapping[str, Any] = field(default_factory=dict)
    tuned: tuple[TunedRow, ...] = ()
    smoke: Mapping[str, Any] = field(default_factory=dict)

    @property
    def module(self) -> str:
        return f"cleanrl_worker.algorithms.{self.algorithm}"


_PPO_CONTINUOUS: dict[str, Any] = {
    "learning_rate": 3e-4,
    "num_envs": 1,
    "num_steps": 2048,
    "num_minibatches": 32,
    "update_epochs": 10,
    "ent_coef": 0.0,
}
_SMOKE_CONTINUOUS: dict[str, Any] = {
    "env_id": "Pendulum-v1",
    "total_timesteps": 64,
    "num_envs": 2,
}
_SMOKE_REPLAY: dict[str, Any] = {
    "total_timesteps": 64,
    "num_envs": 2,
    "learning_starts": 16,
    "buffer_size": 64,
    "batch_size": 8,
}
_ATARI: dict[str, Any] = {
    "env_families": ("atari",),
    "source": _CLEANRL,
    "actions": "discrete",
    "extras": ("atari",),
}
_ON_BREAKOUT: dict[str, Any] = {
    "env_id": "BreakoutNoFrameskip-v4",
    "total_timesteps": 10_000_000,
}
_REPLAY_ON_BREAKOUT: dict[str, Any] = _ON_BREAKOUT | {
    "buffer_size": 1_000_000,
    "batch_size": 32,
    "end_e": 0.01,
    "exploration_fraction": 0.1,
    "learning_starts": 80_000,
    "train_frequency": 4,
}
_OFF_POLICY_CONTINUOUS: dict[str, Any] = {
    "env_families": ("gymnasium", "mujoco"),
    "source": f"{_CLEANRL}; the v5 environment in place of v4",
    "actions": "box",
    "extras": ("mujoco",),
    "overrides": {"env_id": "Hopper-v5", "total_timesteps": 1_000_000},
    "smoke": _SMOKE_REPLAY | _SMOKE_CONTINUOUS,
}


def _starts_early(total_timesteps: int, measured: str) -> tuple[TunedRow, ...]:
    """Return the row for Pendulum, which needs no long random phase."""
    values = {"total_timesteps": total_timesteps, "learning_starts": 1000}
    source = f"measured with CleanRL's {measured} at {total_timesteps // 1000}k steps, two seeds"
    return (TunedRow("Pendulum-v1", values, source),)


_RECIPES = (
    Recipe(
        name="ppo",
        algorithm="ppo",
        summary="Proximal policy optimisation for discrete actions.",
        env_families=("gymnasium", "minigrid", "babyai"),
        source=_CLEANRL,
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
        overrides=_ON_BREAKOUT | {"num_envs": 8, "clip_coef": 0.1},
        smoke={
            "total_timesteps": 64,
            "num_envs": 2,
            "num_steps": 16,
            "num_minibatches": 2,
            "update_epochs": 2,
        },
        **_ATARI,
    ),
    Recipe(
        name="ppo_continuous_action",
        algorithm="ppo",
        summary="Proximal policy optimisation for continuous actions.",
        env_families=("gymnasium", "mujoco"),
        source=f"{_CLEANRL}; the v5 environment in place of v4",
        actions="box",
        sibling="ppo",
        normalise=True,
        omits=("shared_trunk", "rpo_alpha"),
        extras=("mujoco",),
        overrides={
            **_PPO_CONTINUOUS,
            "env_id": "HalfCheetah-v5",
            "total_timesteps": 1_000_000,
        },
        smoke=_SMOKE_CONTINUOUS | {"num_steps": 16, "num_minibatches": 4},
    ),
    Recipe(
        name="rpo_continuous_action",
        algorithm="ppo",
        summary="Robust policy optimisation: PPO with perturbed means.",
        env_families=("gymnasium", "mujoco"),
        source=f"{_CLEANRL}; the v5 environment in place of v4",
        actions="box",
        sibling="ppo",
        normalise=True,
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
        smoke=_SMOKE_CONTINUOUS | {"num_steps": 16, "num_minibatches": 4},
    ),
    Recipe(
        name="pqn",
        algorithm="pqn",
        summary="Parallelised Q-network: Q(lambda) without replay or target network.",
        env_families=("gymnasium",),
        source=_CLEANRL,
        actions="discrete",
        overrides={"env_id": "CartPole-v1", "total_timesteps": 500_000},
        tuned=(
            TunedRow(
                "CartPole-v1",
                {
                    "total_timesteps": 100_000,
                    "learning_rate": 0.001,
                    "num_envs": 8,
                    "num_steps": 32,
                    "exploration_fraction": 0.3,
                },
                "measured with CleanRL's pqn: 500 at 100k steps, two seeds",
            ),
        ),
        smoke={"total_timesteps": 64, "num_envs": 2, "num_steps": 16},
    ),
    Recipe(
        name="dqn",
        algorithm="dqn",
        summary="Deep Q-learning.",
        env_families=("gymnasium",),
        source=_CLEANRL,
        actions="discrete",
        sibling="ddpg_continuous_action",
        overrides={"env_id": "CartPole-v1", "total_timesteps": 500_000},
        tuned=(
            TunedRow(
                "CartPole-v1",
                {
                    "total_timesteps": 60_000,
                    "learning_rate": 0.0005,
                    "learning_starts": 1000,
                    "train_frequency": 2,
                    "target_network_frequency": 200,
                    "exploration_fraction": 0.3,
                    "buffer_size": 20_000,
                    "batch_size": 128,
                },
                "measured with CleanRL's dqn: 488 at 60k steps, two seeds",
            ),
        ),
        smoke=_SMOKE_REPLAY | {"train_frequency": 4},
    ),
    Recipe(
        name="dqn_atari",
        algorithm="dqn",
        summary="Deep Q-learning for Atari games.",
        overrides=_REPLAY_ON_BREAKOUT
        | {"learning_rate": 1e-4, "tau": 1.0, "target_network_frequency": 1000},
        smoke=_SMOKE_REPLAY,
        **_ATARI,
    ),
    Recipe(
        name="c51",
        algorithm="c51",
        summary="Categorical deep Q-learning: distributions of returns.",
        env_families=("gymnasium",),
        source=_CLEANRL,
        actions="discrete",
        overrides={"env_id": "CartPole-v1", "total_timesteps": 500_000},
        tuned=(
            TunedRow(
                "CartPole-v1",
                {
                    "total_timesteps": 100_000,
                    "learning_rate": 0.0005,
                    "learning_starts": 1000,
                    "train_frequency": 4,
                    "exploration_fraction": 0.3,
                    "batch_size": 64,
                    "buffer_size": 20_000,
                    "target_network_frequency": 200,
                },
                "measured with CleanRL's c51: 500 at 100k steps, two seeds",
            ),
        ),
        smoke=_SMOKE_REPLAY | {"train_frequency": 4},
    ),
    Recipe(
        name="c51_atari",
        algorithm="c51",
        summary="Categorical deep Q-learning for Atari games.",
        overrides=_REPLAY_ON_BREAKOUT
        | {
            "learning_rate": 2.5e-4,
            "n_atoms": 51,
            "v_min": -10.0,
            "v_max": 10.0,
            "target_network_frequency": 10_000,
        },
        smoke=_SMOKE_REPLAY,
        **_ATARI,
    ),
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
        tuned=_starts_early(8_000, "sac_continuous_action: -156"),
        **_OFF_POLICY_CONTINUOUS,
    ),
)

RECIPES: dict[str, Recipe] = {recipe.name: recipe for recipe in _RECIPES}


def find_recipe(name: str) -> Recipe:
    if name not in RECIPES:
        raise ConfigError(
            f"algo={name!r} is unknown.{suggest(name, RECIPES)}", hint="'mosaic algos' lists them."
        )
    return RECIPES[name]
