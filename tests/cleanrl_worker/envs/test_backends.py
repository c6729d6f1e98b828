"""Which backend is chosen, and what a wrong choice is told."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cleanrl_worker.envs.probe import ID as PROBE_ID

from cleanrl_worker.envs.backends import CHOICES, choose_backend
from cleanrl_worker.envs.build import build_envs
from cleanrl_worker.envs.registry import ResolvedEnv, resolve
from cleanrl_worker.preparation import prepare
from cleanrl_worker.run_options import RunOptions
from mosaic.contracts.errors import ConfigError
from mosaic.contracts.parameters import parameters_of

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("env_id", "num_envs", "cpus", "chosen"),
    [
        ("CartPole-v1", 4, 1, "sync"),
        ("CartPole-v1", 8, 16, "sync"),
        ("CartPole-v1", 16, 1, "native"),
        ("CartPole-v1", 64, 16, "native"),
        ("LunarLander-v3", 64, 1, "sync"),
        ("LunarLander-v3", 16, 4, "async"),
        ("LunarLander-v3", 1, 16, "sync"),
        ("HalfCheetah-v5", 1, 16, "sync"),
        ("HalfCheetah-v5", 8, 4, "async"),
        ("MiniGrid-DoorKey-5x5-v0", 8, 1, "sync"),
        ("MiniGrid-DoorKey-5x5-v0", 64, 2, "sync"),
        ("MiniGrid-DoorKey-5x5-v0", 8, 4, "async"),
        ("FrozenLake-v1", 8, 16, "sync"),
    ],
)
def test_auto_takes_the_fastest(env_id: str, num_envs: int, cpus: int, chosen: str) -> None:
    assert choose_backend(resolve(env_id), num_envs, "auto", cpus=cpus) == chosen


@pytest.mark.parametrize(("flags", "chosen"), [([], "sync"), (["--env-cpus=4"], "async")])
def test_a_run_with_several_processors_has_processes(flags: list[str], chosen: str) -> None:
    here = ["--env-id=MiniGrid-DoorKey-5x5-v0", "--num-envs=8", "--num-steps=4", "--dry-run"]
    prepared = prepare("ppo", [*here, *flags])
    assert prepared.options.env_backend == chosen
    prepared.envs.close()


@pytest.mark.parametrize("backend", [name for name in CHOICES if name != "auto"])
def test_a_backend_can_be_forced(backend: str) -> None:
    assert choose_backend(resolve("CartPole-v1"), 1, backend) == backend


def test_filming_takes_the_backend_that_can() -> None:
    env = resolve("CartPole-v1")
    assert choose_backend(env, 64, "auto", video=True) == "sync"
    assert choose_backend(env, 64, "sync", video=True) == "sync"
    with pytest.raises(ConfigError, match="env_backend='native' cannot be used with capture_video"):
        choose_backend(env, 64, "native", video=True)


def test_a_backend_that_the_environment_has_not_is_refused() -> None:
    with pytest.raises(ConfigError, match="env_backend='native' is not there for env_id='Acrobot"):
        build_envs(resolve("Acrobot-v1"), 2, backend="native")


def test_a_task_that_envpool_has_not_is_refused() -> None:
    pytest.importorskip("envpool")
    with pytest.raises(ConfigError, match="envpool does not have it"):
        build_envs(ResolvedEnv(PROBE_ID, "gymnasium"), 2, backend="envpool")
    with pytest.raises(ConfigError, match="its observation space is Discrete"):
        build_envs(resolve("FrozenLake-v1"), 2, backend="envpool")


@pytest.mark.needs_system("egl")
def test_mujoco_is_filmed(tmp_path: Path) -> None:
    """In a process of its own: MuJoCo reads MUJOCO_GL when it is imported."""
    subprocess.run(
        [sys.executable, "-c", FILM, str(tmp_path)],
        env={**os.environ, "MUJOCO_GL": "egl", "PYTHONPATH": str(ROOT / "src")},
        check=True,
        timeout=100,
    )
    assert (tmp_path / "rl-video-episode-0.mp4").stat().st_size > 0


FILM = """
import sys
from pathlib import Path
import numpy as np
from cleanrl_worker.envs.build import build_envs
from cleanrl_worker.envs.registry import ResolvedEnv, resolve
envs = build_envs(resolve("HalfCheetah-v5"), 1, video_dir=Path(sys.argv[1]))
envs.reset(1)
for _ in range(5):
    envs.step(np.zeros((1, 6), np.float32))
envs.close()
"""


def test_the_run_options_offer_every_backend() -> None:
    (option,) = (p for p in parameters_of(RunOptions) if p.name == "env_backend")
    assert option.choices == CHOICES
