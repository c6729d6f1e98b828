"""MOSAIC's own code in a bundle: links, so that a bundle always runs the code that started it.

The folder of an installed MOSAIC cannot be put on a path as it is: every other package of that
environment lies in it as well.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from mosaic.contracts.bundles import Bundle
from mosaic.contracts.errors import StorageError

_SOURCE = Path(__file__).resolve().parents[2]


def link_code(bundle: Bundle, *packages: str) -> Path:
    """Return the folder that holds these packages of ours, and none else."""
    try:
        bundle.code.mkdir(exist_ok=True)
        for package in ("mosaic", *packages):
            _point(bundle.code / package, _SOURCE / package)
    except OSError as error:
        raise StorageError(f"{bundle.code} cannot be written: {error.strerror}.") from None
    return bundle.code


def _point(link: Path, target: Path) -> None:
    with contextlib.suppress(OSError):
        if os.readlink(link) == str(target):
            return
    # Two runs may start at once: either's link is the right one.
    aside = link.with_name(f".{link.name}.{os.getpid()}")
    aside.unlink(missing_ok=True)
    aside.symlink_to(target)
    os.replace(aside, link)
