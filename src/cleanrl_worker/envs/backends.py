"""Which backend steps the environments of a run: decided once, at its start, and stored.

`benchmarks/env_backends.py` measures the figures; docs/benchmarks/env-backends.md shows them.
"""

from __future__ import annotations

from collections.abc import Callable

from cleanrl_worker.envs.registry import ATARI, PLAYERS, PROCGEN, ResolvedEnv
from cleanrl_worker.envs.vector import EnvBatch
from mosaic.contracts.errors import ConfigError

AUTO = "auto"
SYNC = "sync"
ASYNC = "async"
NATIVE = "native"
ENVPOOL = "envpool"
JAX = "jax"
BACKENDS = (SYNC, ASYNC, NATIVE, ENVPOOL, JAX)
CHOICES = (AUTO, *BACKENDS)

# One array computation costs what six to eight single steps of CartPole cost, whatever the batch.
NATIVE_FROM_ENVS = 16
# Waking a process and hearing from it, for each of them.
WAKE_US = 20
# Processes must win clearly, since on a busy machine they wait for each other. On two processors
# they were no faster in practice.
ENOUGH = 0.7
FEWEST_CPUS = 4


def choose_backend(
    env: ResolvedEnv,
    num_envs: int,
    requested: str,
    *,
    video: bool = False,
    cpus: int = 1,
    pooled_games: bool = False,
) -> str:
    """Return the backend: the one asked for, or else the fastest with `cpus` processors.

    Never chosen unasked, since they are not Gymnasium's in every detail: envpool's tasks, Atari
    games in ale-py's vector environment, which emulates no faster, and classic control in JAX. A
    recipe asks for `pooled_games` where it is made for envpool; ale-py's stand in for them.
    Procgen's games are envpool's in any case.
    """
    assert requested in CHOICES, requested
    if env.family == PLAYERS.name and requested not in (AUTO, SYNC):
        raise ConfigError(
            f"env_backend={requested!r} is not there for games of several players.",
            hint=f"Use env_backend={SYNC!r}.",
        )
    if requested != AUTO:
        if video and requested != SYNC:
            raise ConfigError(
                f"env_backend={requested!r} cannot be used with capture_video=true.",
                hint=f"Use env_backend={SYNC!r}.",
            )
        return requested
    if video or env.family == PLAYERS.name:
        return SYNC
    if env.family == PROCGEN.name:
        return ENVPOOL
    if pooled_games and env.family == ATARI.name:
        from cleanrl_worker.envs.pooled import is_installed

        return ENVPOOL if is_installed() else NATIVE
    if _has_native(env) and num_envs >= NATIVE_FROM_ENVS:
        return NATIVE
    return ASYNC if _processes_win(env.step_us, num_envs, cpus) else SYNC


def build_backend(name: str, env: ResolvedEnv, num_envs: int, cpus: int | None) -> EnvBatch:
    """Build a batch with a backend of its own; each is imported when it is needed."""
    return _BUILDERS[name](env, num_envs, cpus)


def _has_native(env: ResolvedEnv) -> bool:
    from cleanrl_worker.envs.native import NATIVE_IDS

    return env.id in NATIVE_IDS


def _processes_win(step_us: int, num_envs: int, cpus: int) -> bool:
    if cpus < FEWEST_CPUS:
        return False
    processes = min(cpus, num_envs)
    in_turn = step_us * num_envs
    side_by_side = step_us * -(-num_envs // processes) + WAKE_US * processes
    return side_by_side < ENOUGH * in_turn


def _build_native(env: ResolvedEnv, num_envs: int, cpus: int | None) -> EnvBatch:
    if env.family == ATARI.name:
        from cleanrl_worker.envs.native_atari import NativeGames

        return NativeGames(env, num_envs, cpus)
    from cleanrl_worker.envs.native import NativeCartPoles

    return NativeCartPoles(env, num_envs)


def _build_envpool(env: ResolvedEnv, num_envs: int, cpus: int | None) -> EnvBatch:
    if env.family == ATARI.name:
        from cleanrl_worker.envs.pooled_atari import PooledGames

        return PooledGames(env, num_envs, cpus)
    if env.family == PROCGEN.name:
        from cleanrl_worker.envs.procgen import PooledScenes

        return PooledScenes(env, num_envs, cpus)
    from cleanrl_worker.envs.pooled import PooledEnvs

    return PooledEnvs(env, num_envs, cpus)


def _build_jax(env: ResolvedEnv, num_envs: int, cpus: int | None) -> EnvBatch:
    from cleanrl_worker.envs.device import DeviceEnvs

    return DeviceEnvs(env, num_envs)


_BUILDERS: dict[str, Callable[[ResolvedEnv, int, int | None], EnvBatch]] = {
    NATIVE: _build_native,
    ENVPOOL: _build_envpool,
    JAX: _build_jax,
}
