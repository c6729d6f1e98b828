"""Make a bundle: aside, then renamed, so that it is whole or absent."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mosaic.cli.bundle_contents import Contents, copy_roms, local_roms, rom_requirement
from mosaic.cli.bundle_installer import Installer
from mosaic.contracts.bundles import (
    DOCUMENT,
    Bundle,
    check_bundle_name,
    find_bundle,
    read_bundle,
)
from mosaic.contracts.errors import ConfigError, DependencyMissing, StorageError
from mosaic.contracts.files import make_directory, write_json_whole
from mosaic.contracts.installed import EXTRAS
from mosaic.contracts.paths import VarPaths

_ASIDE = ".new-"

# Runs in the bundle: its packages, and which of the named modules it could import.
_QUESTION = """
import importlib.metadata, importlib.util, json, platform, sys, sysconfig
def has(name):
    try: return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError): return False
found = importlib.metadata.distributions()
print(json.dumps({
    "python_version": platform.python_version(),
    "packages": dict(sorted((each.metadata["Name"].lower(), each.version) for each in found)),
    "modules": [name for name in sys.argv[1:] if has(name)],
    "site_packages": sysconfig.get_path("purelib"),
}))
"""


def build_bundle(
    paths: VarPaths, name: str, contents: Contents, say: Callable[[str], None]
) -> Bundle:
    """Make the bundle, or return the one that stands with the same contents."""
    place = paths.bundles / check_bundle_name(name)
    if (place / DOCUMENT).exists():
        return _same(find_bundle(paths, name), contents)
    make_directory(paths.bundles, what="The folder of the bundles")
    _remove_what_was_left(paths.bundles)
    aside = paths.bundles / f"{_ASIDE}{os.getpid()}-{name}"
    try:
        _fill(aside, contents, say)
        aside.rename(place)
    except OSError as error:
        raise StorageError(f"bundle={name!r} cannot be written: {error.strerror}.") from None
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return read_bundle(place)


def remove_bundle(paths: VarPaths, name: str) -> Bundle:
    """Remove a bundle that no process runs in."""
    bundle = find_bundle(paths, name)
    users = _processes_of(bundle)
    if users:
        raise ConfigError(
            f"bundle={name!r} is in use by process {', '.join(map(str, users))}: cancel its run, "
            "or wait for its end."
        )
    aside = bundle.root.with_name(f"{_ASIDE}{os.getpid()}-{name}")
    bundle.root.rename(aside)
    shutil.rmtree(aside)
    return bundle


def _same(bundle: Bundle, contents: Contents) -> Bundle:
    if set(bundle.extras) == set(contents.extras) and bundle.profile == contents.profile:
        return bundle
    holds = bundle.profile or ", ".join(bundle.extras) or "no extra"
    raise ConfigError(
        f"bundle={bundle.name!r} is there already, with {holds}.",
        hint=f"Choose another name, or remove it with: mosaic bundle rm {bundle.name}",
    )


def _fill(aside: Path, contents: Contents, say: Callable[[str], None]) -> None:
    installer = Installer(aside)
    installer.make()
    say(f"installing {len(contents.requirements)} requirements and torch with {installer.name}")
    with tempfile.TemporaryDirectory(prefix="mosaic-bundle-") as folder:
        constraints = Path(folder) / "constraints.txt"
        constraints.write_text("\n".join(contents.constraints) + "\n", encoding="utf-8")
        installer.install(contents.requirements, constraints)
    found = _ask(installer.python)
    if contents.profile is not None:
        say(f"{_bring_roms(installer, Path(found['site_packages']))} Atari ROMs")
    modules = set(found["modules"])
    document = {
        "profile": contents.profile,
        "extras": list(contents.extras),
        "satisfies": [extra for extra, needed in EXTRAS.items() if modules.issuperset(needed)],
        "python_version": found["python_version"],
        "packages": found["packages"],
        "created_at": time.time(),
    }
    write_json_whole(aside / DOCUMENT, document)


def _bring_roms(installer: Installer, site_packages: Path) -> int:
    """Copy the ROMs of the installed ale-py, or of the wheel that brings them."""
    roms = local_roms()
    if roms is not None:
        return copy_roms(roms, site_packages)
    with tempfile.TemporaryDirectory(prefix="mosaic-roms-") as folder:
        installer.unpack(rom_requirement(), Path(folder))
        return copy_roms(Path(folder) / "ale_py" / "roms", site_packages)


def _ask(python: Path) -> dict[str, Any]:
    modules = sorted({module for needed in EXTRAS.values() for module in needed})
    done = subprocess.run(
        [str(python), "-I", "-c", _QUESTION, *modules], capture_output=True, text=True
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise DependencyMissing(f"The new environment does not work: {last}")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def _remove_what_was_left(folder: Path) -> None:
    """Remove what builds left that were killed."""
    from psutil import pid_exists

    for aside in folder.glob(f"{_ASIDE}*"):
        pid = aside.name.removeprefix(_ASIDE).partition("-")[0]
        if not (pid.isdigit() and pid_exists(int(pid))):
            shutil.rmtree(aside, ignore_errors=True)


def _processes_of(bundle: Bundle) -> list[int]:
    from psutil import process_iter

    program = str(bundle.python)
    return [
        process.pid
        for process in process_iter(["cmdline"])
        if (process.info["cmdline"] or [""])[0] == program
    ]
