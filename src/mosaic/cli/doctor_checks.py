"""The checks of `mosaic doctor`. None imports what it looks for: that could take seconds, or crash.

A check takes the data directory and returns what it found. It writes nothing that stays.
"""

from __future__ import annotations

import os
import shutil
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from mosaic import __version__
from mosaic.client.locating import TARGET_VARIABLE, forced_target, has_daemon, read_info
from mosaic.contracts.errors import MosaicError
from mosaic.contracts.gpus import survey_gpus, visible_gpus
from mosaic.contracts.gui_access import DEFAULT_PORT
from mosaic.contracts.installed import (
    EXTRAS,
    has_library,
    install_command,
    is_installed,
    missing_modules,
    repair_command,
)
from mosaic.contracts.paths import VarPaths
from mosaic.contracts.settings import TrainerSettings, load_settings, load_trainer_settings
from mosaic.workers.discovery import DiscoveredWorker, discover_workers

# Without these nothing trains.
CORE = ("gymnasium", "numpy", "psutil", "pydantic", "rich", "safetensors", "tensorboard", "torch")

# Shared libraries and the Debian packages that bring them.
_RENDERERS = {
    "egl": (("libEGL.so.1", "libGL.so.1"), "libegl1 libgl1 libgl1-mesa-dri"),
    "osmesa": (("libOSMesa.so.8",), "libosmesa6"),
}
_LIBRARIES = {
    "procgen": (("libQt5Core.so.5", "libQt5Gui.so.5"), "libqt5core5a libqt5gui5"),
    "native": (("libxcb-icccm.so.4", "libxcb-keysyms.so.1"), "libxcb-icccm4 libxcb-keysyms1"),
}

_PYTHONS = ((3, 11), (3, 12))
_GB = 10**9
_LOW_DISK_BYTES, _FULL_DISK_BYTES = 10 * _GB, _GB
_CONNECT_TIMEOUT_S = 1.0


class Status(StrEnum):
    OK = "ok"
    MISSING = "missing"  # some runs need it
    WARNING = "warning"  # some runs will suffer
    PROBLEM = "problem"  # to be fixed


@dataclass(frozen=True, slots=True)
class Check:
    name: str
    status: Status
    text: str
    fix: str = ""


def check_python(paths: VarPaths) -> Iterator[Check]:
    text = f"{sys.version.split()[0]}, {sys.executable}"
    if sys.version_info[:2] in _PYTHONS:
        yield Check("python", Status.OK, text)
    else:
        yield Check("python", Status.PROBLEM, text, "install Python 3.11 or 3.12, then: make setup")
    yield Check("mosaic", Status.OK, __version__)


def check_core(paths: VarPaths) -> Iterator[Check]:
    lacking = [module for module in CORE if not is_installed(module)]
    if lacking:
        text = f"not installed: {', '.join(lacking)}"
        yield Check("core", Status.PROBLEM, text, repair_command())
    else:
        yield Check("core", Status.OK, ", ".join(f"{name} {_version(name)}" for name in CORE))


def check_extras(paths: VarPaths) -> Iterator[Check]:
    for extra in EXTRAS:
        lacking = missing_modules(extra)
        name = f"extra {extra}"
        if lacking:
            text = f"lacks {', '.join(lacking)}"
            yield Check(name, Status.MISSING, text, install_command(extra))
        else:
            yield Check(name, Status.OK, "installed")


def check_workers(paths: VarPaths) -> Iterator[Check]:
    found = discover_workers()
    if not found:
        yield Check("workers", Status.PROBLEM, "none", repair_command())
    yield from (_worker(each) for each in found)


def _worker(found: DiscoveredWorker) -> Check:
    name = f"worker {found.name}"
    if found.capabilities is None:
        fix = "install what it lacks, or remove its package"
        return Check(name, Status.PROBLEM, found.reason or "unavailable", fix)
    known = found.capabilities
    return Check(name, Status.OK, f"{known.version}, {known.description}")


def check_rendering(paths: VarPaths) -> Iterator[Check]:
    """Look for the one trap: without a display MuJoCo's default renderer ends the process."""
    has_display = bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
    renderer = os.environ.get("MUJOCO_GL", "").lower()
    shown = f"display: {'yes' if has_display else 'no'}, MUJOCO_GL: {renderer or 'not set'}"
    if sys.platform != "linux" or not is_installed("mujoco"):
        yield Check("rendering", Status.OK, shown)
        return
    if not has_display and renderer in ("", "glfw", "glx"):
        shown += ": MuJoCo gives no pictures"
        yield Check("rendering", Status.WARNING, shown, "export MUJOCO_GL=egl")
        renderer = "egl"
    else:
        yield Check("rendering", Status.OK, shown)
    if renderer in _RENDERERS:
        yield _libraries(f"renderer {renderer}", *_RENDERERS[renderer])


def check_libraries(paths: VarPaths) -> Iterator[Check]:
    """Look for what pip does not bring to extras that are installed."""
    if sys.platform == "linux":
        for extra, (names, packages) in _LIBRARIES.items():
            if not missing_modules(extra):
                yield _libraries(f"libraries of {extra}", names, packages)


def _libraries(name: str, libraries: Sequence[str], packages: str) -> Check:
    lacking = [library for library in libraries if not has_library(library)]
    if lacking:
        fix = f"apt-get install {packages}"
        return Check(name, Status.WARNING, f"lacks {', '.join(lacking)}", fix)
    return Check(name, Status.OK, ", ".join(libraries))


def check_gpus(paths: VarPaths) -> Iterator[Check]:
    survey = survey_gpus()
    if survey.problem:
        yield Check("gpu", Status.PROBLEM, survey.problem, "nvidia-smi must run without an error")
        return
    usable = visible_gpus(survey.devices)
    named = [f"{each.index}: {each.name}, {each.memory_mb} MB" for each in usable]
    if not survey.devices:
        yield Check("gpu", Status.OK, "none found: runs use the CPU")
    elif not usable:
        text = f"CUDA_VISIBLE_DEVICES hides all {len(survey.devices)}"
        yield Check("gpu", Status.WARNING, text, "unset CUDA_VISIBLE_DEVICES")
    elif _version("torch").endswith("+cpu"):
        text = f"{'; '.join(named)}; but torch is a build for the CPU"
        fix = "MOSAIC_TORCH=cuda make setup"
        yield Check("gpu", Status.PROBLEM, text, fix)
    else:
        yield Check("gpu", Status.OK, "; ".join(named))


def check_settings(paths: VarPaths) -> Iterator[Check]:
    try:
        load_settings(paths.settings)
        load_trainer_settings(paths.settings)
    except MosaicError as error:
        yield Check("settings", Status.PROBLEM, error.one_line(), f"edit {paths.settings}")
    else:
        text = str(paths.settings) if paths.settings.exists() else "no mosaic.toml: the defaults"
        yield Check("settings", Status.OK, text)


def check_data_directory(paths: VarPaths) -> Iterator[Check]:
    place = _nearest(paths.root)
    try:
        with tempfile.TemporaryFile(dir=place):
            pass
    except OSError as error:
        text, fix = f"{place}: {error.strerror}", "export MOSAIC_VAR_DIR=<a directory of yours>"
        yield Check("data directory", Status.PROBLEM, text, fix)
    else:
        made = "" if paths.root.exists() else ", made with the first run"
        yield Check("data directory", Status.OK, f"{paths.root}{made}")
    yield _disk(place)


def _disk(place: Path) -> Check:
    free = shutil.disk_usage(place).free
    text = f"{free / _GB:.1f} GB free"
    fix = "mosaic rm --purge RUN removes a run; or set MOSAIC_VAR_DIR to a larger disk"
    if free < _FULL_DISK_BYTES:
        return Check("disk", Status.PROBLEM, text, fix)
    if free < _LOW_DISK_BYTES:
        return Check("disk", Status.WARNING, f"{text}: little for replay buffers and videos", fix)
    return Check("disk", Status.OK, text)


def check_daemon(paths: VarPaths) -> Iterator[Check]:
    try:
        forced = forced_target()
    except MosaicError as error:
        yield Check("daemon", Status.PROBLEM, error.one_line(), f"unset {TARGET_VARIABLE}")
        return
    if forced is not None:
        yield Check("daemon", Status.OK, f"{TARGET_VARIABLE} says {forced}")
    elif not has_daemon(paths):
        yield Check("daemon", Status.OK, "not running: it starts with the first run")
        yield from _taken_port(paths)
    elif (info := read_info(paths)) is not None:
        yield Check("daemon", Status.OK, f"runs: process {info.pid}, port {info.port}")
    else:
        yield Check("daemon", Status.OK, "starts just now")


def _taken_port(paths: VarPaths) -> Iterator[Check]:
    try:
        port = load_trainer_settings(paths.settings).port
    except MosaicError:  # told by the check of the settings
        port = TrainerSettings().port
    if _answers(port):
        text = f"{port} is taken by another program: the daemon will choose a free one"
        yield Check("port", Status.OK, text)


def check_gui(paths: VarPaths) -> Iterator[Check]:
    """Tell of the GUI's port where it is taken; a GUI of this data directory may be what has it."""
    if not paths.gui_info.exists() and _answers(DEFAULT_PORT):
        text = f"{DEFAULT_PORT} is taken by another program: the GUI will choose a free one"
        yield Check("GUI port", Status.OK, text)


def _answers(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=_CONNECT_TIMEOUT_S):
            return True
    except OSError:
        return False


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "of no known version"


def _nearest(path: Path) -> Path:
    """Return the path, or the nearest directory above it that is there."""
    return next(each for each in (path, *path.parents) if each.is_dir())


CHECKS: tuple[Callable[[VarPaths], Iterator[Check]], ...] = (
    check_python,
    check_core,
    check_extras,
    check_workers,
    check_rendering,
    check_libraries,
    check_gpus,
    check_settings,
    check_data_directory,
    check_daemon,
    check_gui,
)
