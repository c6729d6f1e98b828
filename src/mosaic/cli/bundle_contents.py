"""What goes into a bundle: the packages of MOSAIC with some extras, or those CleanRL needs."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from mosaic.contracts.bundles import CLEANRL_PROFILE
from mosaic.contracts.errors import ConfigError, DependencyMissing, suggest

DISTRIBUTION = "mosaic-rl"
# Extras of the platform itself: nothing of them belongs to an algorithm process.
_NOT_FOR_RUNS = frozenset({"gui", "native", "docs", "dev", "trainer"})

# Seen to run CleanRL's scripts of commit fe8d8a03, unmodified. On Gymnasium 1 they log no episode
# and learn from reset steps; ale-py after 0.8 registers no NoFrameskip ids by itself.
CLEANRL_REQUIREMENTS = (
    "gymnasium[classic-control,mujoco]==0.29.1",
    "shimmy[atari]==1.3.0",
    "ale-py==0.8.1",
    "numpy==1.26.4",
    "mujoco==3.17.0",
    "opencv-python-headless==4.11.0.86",
    "tyro==1.0.16",
    "tensorboard==2.21.0",
    "moviepy==2.2.1",
    "imageio-ffmpeg>=0.5",
    "pillow<12",
)
# The last one whose ROMs ale-py 0.8.1 takes; it brings all of them, 0.8.1 a single one.
_ROM_PACKAGE = "ale-py==0.9.1"


@dataclass(frozen=True, slots=True)
class Contents:
    """What to install, at which versions, and which ROMs to bring."""

    requirements: tuple[str, ...]
    constraints: tuple[str, ...] = ()
    extras: tuple[str, ...] = ()
    profile: str | None = None


def contents_of_extras(extras: Sequence[str]) -> Contents:
    """Return what MOSAIC's algorithms and these extras need, at the versions installed here."""
    known = sorted(set(metadata.metadata(DISTRIBUTION).get_all("Provides-Extra") or ()))
    known = [extra for extra in known if extra not in _NOT_FOR_RUNS]
    for extra in extras:
        if extra not in known:
            raise ConfigError(
                f"--extra {extra} is not allowed: give one of {', '.join(known)}."
                f"{suggest(extra, known)}"
            )
    chosen = tuple(dict.fromkeys(extras))
    return Contents(tuple(sorted(_requirements(chosen))), tuple(_installed()), chosen)


def contents_for_cleanrl() -> Contents:
    return Contents(CLEANRL_REQUIREMENTS, profile=CLEANRL_PROFILE)


def _requirements(extras: Iterable[str]) -> set[str]:
    """Return the requirements of the distribution, its references to itself followed."""
    from packaging.requirements import Requirement

    found: set[str] = set()
    waiting, seen = ["", *extras], {""}
    for extra in waiting:
        for line in metadata.requires(DISTRIBUTION) or ():
            needed = Requirement(line)
            if needed.marker is not None and not needed.marker.evaluate({"extra": extra}):
                continue
            if needed.name == DISTRIBUTION:
                waiting += sorted(needed.extras - seen)
                seen |= needed.extras
            else:
                needed.marker = None
                found.add(str(needed))
    return found


def _installed() -> list[str]:
    """Return the versions of this environment, which are known to work together."""
    versions = {each.metadata["Name"]: each.version for each in metadata.distributions()}
    versions.pop(DISTRIBUTION, None)
    return [f"{name}=={version}" for name, version in sorted(versions.items()) if name]


def local_roms() -> Path | None:
    """Return the folder of the ROMs that the installed ale-py brings."""
    spec = find_spec("ale_py")
    folders = spec.submodule_search_locations if spec is not None else None
    roms = [Path(folder) / "roms" for folder in folders or ()]
    return next((folder for folder in roms if any(folder.glob("*.bin"))), None)


def rom_requirement() -> str:
    return _ROM_PACKAGE


def copy_roms(source: Path, site_packages: Path) -> int:
    """Copy the ROMs to where the bundle's ale-py looks, and return how many it has then."""
    target = site_packages / "ale_py" / "roms"
    if not target.is_dir():
        raise DependencyMissing(f"The bundle has no ale-py at {target}.")
    for rom in source.glob("*.bin"):
        shutil.copyfile(rom, target / rom.name)
    return len(list(target.glob("*.bin")))
