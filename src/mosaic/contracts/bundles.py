"""Dependency bundles: environments of their own, in which the algorithm process of a run lives.

A bundle is a folder under `trainer/venvs`: a virtual environment, and `bundle.json`, which says
what it is. It is made aside and renamed, so that a folder with that file is whole.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from mosaic.contracts.errors import ConfigError, DependencyMissing, suggest
from mosaic.contracts.paths import VarPaths

DOCUMENT = "bundle.json"
# The bundle that scripts of a CleanRL checkout run in, unless another is named.
CLEANRL_BUNDLE = "cleanrl"
# What `mosaic bundle create --cleanrl` fills a bundle with, as it is written in its document.
CLEANRL_PROFILE = "cleanrl"

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


@dataclass(frozen=True, slots=True)
class Bundle:
    """A bundle that stands. `satisfies` are the extras whose every module it has."""

    name: str
    root: Path
    profile: str | None = None
    extras: tuple[str, ...] = ()
    satisfies: tuple[str, ...] = ()
    python_version: str = ""
    packages: Mapping[str, str] = field(default_factory=dict)
    created_at: float = 0.0

    @property
    def python(self) -> Path:
        # Not resolved: the path of the link is what makes it the environment's interpreter.
        return self.root / "bin" / "python"

    @property
    def code(self) -> Path:
        """The folder of links to MOSAIC's own packages, which the bundle runs."""
        return self.root / "mosaic-code"

    def to_json(self) -> dict[str, Any]:
        document = asdict(self)
        del document["root"]
        return document | {"extras": list(self.extras), "satisfies": list(self.satisfies)}


def check_bundle_name(name: Any) -> str:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ConfigError(
            f"bundle={name!r} is not allowed: give 1 to 64 letters, digits, '_' or '-', of which "
            "the first is a letter or a digit."
        )
    return name


def find_bundles(paths: VarPaths) -> list[Bundle]:
    """Return every whole bundle, by name."""
    documents = sorted(paths.bundles.glob(f"*/{DOCUMENT}"))
    return [read_bundle(document.parent) for document in documents]


def find_bundle(paths: VarPaths, name: str) -> Bundle:
    """Return the bundle of that name; one that is not there is told how it is made."""
    root = paths.bundles / check_bundle_name(name)
    if (root / DOCUMENT).is_file():
        return read_bundle(root)
    known = [path.parent.name for path in paths.bundles.glob(f"*/{DOCUMENT}")]
    create = "--cleanrl" if name == CLEANRL_BUNDLE else "--extra EXTRA"
    raise DependencyMissing(
        f"bundle={name!r} is not there.{suggest(name, known)}",
        hint=f"Make it with: mosaic bundle create {name} {create}",
    )


def read_bundle(root: Path) -> Bundle:
    document = json.loads((root / DOCUMENT).read_text(encoding="utf-8"))
    return Bundle(
        name=root.name,
        root=root,
        profile=document.get("profile"),
        extras=tuple(document.get("extras") or ()),
        satisfies=tuple(document.get("satisfies") or ()),
        python_version=str(document.get("python_version") or ""),
        packages=dict(document.get("packages") or {}),
        created_at=float(document.get("created_at") or 0.0),
    )
