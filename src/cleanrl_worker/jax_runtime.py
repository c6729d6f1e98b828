"""JAX as a run uses it: which device, how many threads, how much memory, where programs are kept.

All of this is decided before JAX starts its backend, which happens with the first array. So no
module makes an array while it is imported.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterable

from mosaic.contracts.errors import DependencyMissing
from mosaic.contracts.paths import VarPaths

PACKAGES = ("jax", "flax", "optax")
CPU, CUDA = "cpu", "cuda"


def require_jax(algo: str) -> None:
    """Refuse to go on where a package of the extra is missing."""
    missing = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        raise DependencyMissing(
            f"{algo} needs the package {missing[0]!r}, which is not installed.",
            hint="Install it with: pip install 'mosaic-rl[jax]'",
        )


def start_jax(*, cuda: bool, threads: int, deterministic: bool) -> tuple[str, tuple[str, ...]]:
    """Start JAX; return its device, and what the user should know where it is another one.

    Without `cuda` no GPU is touched. With it, memory is taken as it is needed instead of three
    quarters of the GPU at once; XLA_PYTHON_CLIENT_MEM_FRACTION bounds it where it is set.
    """
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    _add_flags(_flags(threads, deterministic=deterministic))
    import jax

    if not cuda:
        jax.config.update("jax_platforms", CPU)
    _keep_programs()
    if jax.default_backend() == "gpu":
        return CUDA, ()
    if not cuda:
        return CPU, ()
    return CPU, ("cuda=true, but JAX sees no GPU here: it runs on the CPU.",)


def _flags(threads: int, *, deterministic: bool) -> Iterable[str]:
    if threads == 1:
        yield "--xla_cpu_multi_thread_eigen=false"
    if deterministic:
        yield "--xla_gpu_deterministic_ops=true"


def _add_flags(flags: Iterable[str]) -> None:
    """Add to XLA's flags; what the user set himself stands."""
    present = os.environ.get("XLA_FLAGS", "").split()
    names = {flag.partition("=")[0] for flag in present}
    added = [flag for flag in flags if flag.partition("=")[0] not in names]
    os.environ["XLA_FLAGS"] = " ".join(present + added)


def _keep_programs() -> None:
    """Keep compiled programs, so that the next run with these shapes starts at once.

    Under a worker they lie in the data directory; alone only where JAX's own variable says.
    """
    import jax

    is_told = os.environ.get("JAX_COMPILATION_CACHE_DIR")
    if not is_told and "MOSAIC_VAR_DIR" in os.environ:
        folder = VarPaths.default().jax_programs
        jax.config.update("jax_compilation_cache_dir", str(folder))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
