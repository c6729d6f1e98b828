"""What the machine itself must bring for some tests, and how to tell whether it does."""

from __future__ import annotations

import ctypes
import functools
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass

RENDER_ONE_CONTEXT = "import mujoco; mujoco.GLContext(8, 8).make_current()"


@dataclass(frozen=True)
class SystemPackage:
    """A thing that pip cannot install."""

    apt: str
    is_there: Callable[[], bool]


def has_chromium() -> bool:
    return bool(shutil.which("chromium") and shutil.which("chromedriver"))


def has_egl() -> bool:
    """Make a context in another process: MuJoCo ends the process when it fails twice."""
    command = [sys.executable, "-c", RENDER_ONE_CONTEXT]
    environment = {**os.environ, "MUJOCO_GL": "egl"}
    # In a folder of its own: a failure leaves MUJOCO_LOG.TXT in the working directory.
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            command, env=environment, cwd=folder, capture_output=True, check=False, timeout=60
        )
    return done.returncode == 0


def has_libraries(*names: str) -> bool:
    try:
        for name in names:
            ctypes.CDLL(name)
    except OSError:
        return False
    return True


SYSTEM_PACKAGES = {
    "chromium": SystemPackage("chromium chromium-driver", has_chromium),
    "egl": SystemPackage("libegl1 libgl1-mesa-dri", has_egl),
    "qt5": SystemPackage(
        "libqt5core5a libqt5gui5", lambda: has_libraries("libQt5Core.so.5", "libQt5Gui.so.5")
    ),
    # What PySide6's browser loads beside what it brings.
    "qt6": SystemPackage(
        "libegl1 libnss3 libxkbcommon0 libxkbfile1 libxcomposite1 libxdamage1 libxrandr2 libxtst6",
        lambda: has_libraries("libEGL.so.1", "libnss3.so", "libxkbcommon.so.0", "libXtst.so.6"),
    ),
    "tmux": SystemPackage("tmux", lambda: bool(shutil.which("tmux"))),
    "xvfb": SystemPackage("xvfb xauth", lambda: bool(shutil.which("Xvfb"))),
}


@functools.cache
def missing_message(name: str) -> str | None:
    """Return None when the machine has it, else one line that names the package to install."""
    package = SYSTEM_PACKAGES[name]
    return None if package.is_there() else f"needs {name}: apt-get install {package.apt}"
