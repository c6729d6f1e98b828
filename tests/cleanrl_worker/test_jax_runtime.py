"""JAX where it is asked for, and nowhere else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cleanrl_worker.preparation import prepare
from mosaic.contracts.errors import EXIT_DEPENDENCY, EXIT_OK, ConfigError

# Hides a package from a process as if it was not installed.
HIDE = """
import sys
from importlib.machinery import PathFinder

found = PathFinder.find_spec
PathFinder.find_spec = classmethod(
    lambda cls, name, *rest: None if name.partition(".")[0] == "jax" else found(name, *rest)
)
"""


def run_python(code: str, directory: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=directory,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_without_the_package_the_extra_is_named(tmp_path: Path) -> None:
    code = f"{HIDE}\nfrom cleanrl_worker.launcher import main\nsys.exit(main(['dqn_jax']))"
    done = run_python(code, tmp_path)

    assert done.returncode == EXIT_DEPENDENCY
    assert done.stderr.splitlines() == [
        (
            "dqn_jax needs the package 'jax', which is not installed. "
            "Install it with: pip install 'mosaic-rl[jax]'"
        )
    ]
    assert list(tmp_path.iterdir()) == []


def test_a_recipe_in_torch_imports_no_jax(tmp_path: Path) -> None:
    code = f"{HIDE}\nfrom cleanrl_worker.launcher import main\nsys.exit(main(['dqn', '--dry-run']))"
    done = run_python(code, tmp_path)
    assert done.returncode == EXIT_OK, done.stderr


def test_a_run_takes_gpu_memory_as_it_needs_it_and_one_thread(tmp_path: Path) -> None:
    code = """
import os
from cleanrl_worker.jax_runtime import start_jax
print(start_jax(cuda=False, threads=1, deterministic=True))
import jax
print(jax.devices()[0].platform, os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"])
print(os.environ["XLA_FLAGS"])
print(jax.config.jax_compilation_cache_dir)
"""
    variables = {"XLA_FLAGS": "--xla_gpu_deterministic_ops=false", "MOSAIC_VAR_DIR": str(tmp_path)}
    done = run_python(code, tmp_path, **variables, JAX_COMPILATION_CACHE_DIR="")

    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[:3] == [
        "('cpu', ())",
        "cpu false",
        "--xla_gpu_deterministic_ops=false --xla_cpu_multi_thread_eigen=false",
    ]


def test_environments_in_jax_are_for_recipes_in_jax() -> None:
    with pytest.raises(ConfigError, match="env_backend='jax' is for recipes in JAX, and dqn is"):
        prepare("dqn", ["--env-backend=jax", "--dry-run"])


def test_an_environment_that_jax_does_not_have_is_refused() -> None:
    flags = ["--env-backend=jax", "--env-id=FrozenLake-v1", "--dry-run"]
    with pytest.raises(
        ConfigError, match="not there for env_id='FrozenLake-v1', only for CartPole"
    ):
        prepare("dqn_jax", flags)


def test_several_seeds_need_environments_on_the_device() -> None:
    with pytest.raises(ConfigError, match="num_seeds=3 needs environments on the device"):
        prepare("dqn_jax", ["--num-seeds=3", "--dry-run"])
