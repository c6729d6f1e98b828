"""Which extras of the distribution are installed; told without importing any of them."""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import sys
from pathlib import Path

# The modules by which an extra of the distribution is known to be there.
EXTRAS: dict[str, tuple[str, ...]] = {
    "box2d": ("Box2D",),
    "mujoco": ("mujoco",),
    "atari": ("ale_py", "cv2"),
    "minigrid": ("minigrid",),
    "video": ("moviepy", "imageio_ffmpeg"),
    "dm-control": ("shimmy", "dm_control"),
    "envpool": ("envpool",),
    "procgen": ("envpool",),
    "jax": ("jax", "flax", "optax", "chex"),
    "pettingzoo": ("pettingzoo", "supersuit", "multi_agent_ale_py", "mpe2"),
    "curriculum": ("syllabus", "ray", "minigrid", "matplotlib", "scipy"),
    "wandb": ("wandb",),
    "optuna": ("optuna", "optuna_dashboard"),
    "figure": ("matplotlib",),
    "gui": ("nicegui", "httpx"),
    "trainer": ("grpc", "google.protobuf"),
    "ray": ("ray",),
    "play": ("h5py",),
    "spade": ("spade", "spade_bdi", "agentspeak"),
    "native": ("webview", "qtpy", "PySide6"),
    "docs": ("sphinx", "myst_parser", "furo"),
}


# Where the code lies, if it was not installed as a wheel.
_CHECKOUT = Path(__file__).parents[3]
_LIBRARY_FOLDERS = ("/lib", "/usr/lib", "/lib64", "/usr/lib64", "/usr/local/lib")


def install_command(*extras: str) -> str:
    """Return the command that installs extras here, in a checkout at versions that fit together."""
    pins = f" -c {shlex.quote(str(_CHECKOUT / 'constraints.txt'))}" if _own_checkout() else ""
    return f"{_pip()} install{pins} 'mosaic-rl[{','.join(extras)}]'"


def repair_command() -> str:
    """Return the command that installs what every installation has."""
    if _own_checkout():
        return f"make -C {shlex.quote(str(_CHECKOUT))} setup"
    return f"{_pip()} install --upgrade --upgrade-strategy only-if-needed mosaic-rl"


def _own_checkout() -> bool:
    """Say whether this is the environment that a checkout has made for itself."""
    return (_CHECKOUT / "Makefile").is_file() and Path(sys.prefix).parent == _CHECKOUT


def _pip() -> str:
    """Return the pip of this interpreter; the one that a shell finds may be another's."""
    found = shutil.which("pip")
    is_ours = found is not None and Path(found).parent == Path(sys.executable).parent
    return "pip" if is_ours else f"{shlex.quote(sys.executable)} -m pip"


def has_library(name: str) -> bool:
    """Say whether the loader would find a shared library, without loading it."""
    named = os.environ.get("LD_LIBRARY_PATH", "").split(":")
    folders = [Path(folder) for folder in (*named, *_LIBRARY_FOLDERS) if folder]
    return any(
        (folder / name).exists() or any(folder.glob(f"*-linux-gnu*/{name}")) for folder in folders
    )


def missing_modules(extra: str) -> list[str]:
    """Return what an extra lacks; one that we do not know lacks nothing that we could name."""
    return [module for module in EXTRAS.get(extra, ()) if not is_installed(module)]


def is_installed(module: str) -> bool:
    """Say whether a module could be imported, without importing it."""
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):  # its parent is absent, or half removed
        return False
