"""A user's own CleanRL checkout: which scripts it has, and what each can be told.

`cleanrl:ppo` is the script `cleanrl/ppo.py` of the checkout that `extras.cleanrl_home` names.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mosaic.contracts.errors import ConfigError, suggest
from mosaic.contracts.schema import AlgorithmSchema
from mosaic.contracts.script_arguments import read_arguments

PREFIX = "cleanrl:"
HOME_VARIABLE = "CLEANRL_HOME"

_FOLDER = "cleanrl"
_NAME = re.compile(r"\w{1,100}", re.ASCII)
# By a word in the script's name: what it is written for.
_FAMILIES = {"atari": "atari", "procgen": "procgen", "continuous": "mujoco"}


def is_script(algo: object) -> bool:
    return isinstance(algo, str) and ":" in algo


def find_home(extras: Mapping[str, Any], algo: str) -> Path:
    """Return the checkout that a config names."""
    home = extras.get("cleanrl_home")
    if not home:
        raise ConfigError(
            f"extras.cleanrl_home is missing: algo={algo!r} is a script of a CleanRL checkout.",
            hint=f"Give --cleanrl-home, or set {HOME_VARIABLE}.",
        )
    return Path(str(home)).expanduser()


def usual_home() -> str | None:
    """Return the checkout that this shell names."""
    return os.environ.get(HOME_VARIABLE) or None


def find_script(home: Path, algo: str) -> Path:
    """Return the path of a script; it lies in the checkout, links followed."""
    prefix, _, name = algo.partition(":")
    if prefix + ":" != PREFIX or not _NAME.fullmatch(name):
        raise ConfigError(
            f"algo={algo!r} is unknown: give a name of 'mosaic algos', or {PREFIX}<script>."
        )
    root = home.resolve()
    if not (root / _FOLDER).is_dir():
        raise ConfigError(
            f"cleanrl_home={str(home)!r} is no CleanRL checkout: it has no folder {_FOLDER!r}."
        )
    for path in (root / _FOLDER / f"{name}.py", root / _FOLDER / name / f"{name}.py"):
        if path.is_file() and path.resolve().is_relative_to(root):
            return path
    raise ConfigError(
        f"algo={algo!r}: {str(root)!r} has no such script.{suggest(algo, find_scripts(home))}"
    )


def find_scripts(home: Path) -> list[str]:
    """Return the names of a checkout's scripts, each with its prefix."""
    folder = home / _FOLDER
    files = [*folder.glob("*.py"), *folder.glob("*/*.py")]
    names = {file.stem for file in files if file.parent in (folder, folder / file.stem)}
    return [PREFIX + name for name in sorted(names) if _NAME.fullmatch(name) and name[0] != "_"]


def script_schema(home: Path, algo: str) -> AlgorithmSchema:
    """Return what a script can be told, as a worker's schema tells of an algorithm."""
    path = find_script(home, algo)
    return AlgorithmSchema(
        name=algo,
        module=path.relative_to(home.resolve()).as_posix(),
        summary=f"{path.stem}.py of the CleanRL checkout {str(home)!r}.",
        env_families=(_family(path.stem),),
        extras=(),  # what it needs is in its bundle
        fields=read_arguments(path),
        tuned=(),
    )


def _family(name: str) -> str:
    return next((family for word, family in _FAMILIES.items() if word in name), "gymnasium")
