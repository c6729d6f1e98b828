"""The operator's settings: `mosaic.toml` in the data directory."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from mosaic.contracts.errors import ConfigError, NotAllowed, suggest


@dataclass(frozen=True, slots=True)
class OperatorSettings:
    """What the operator allows beyond MOSAIC's own code; nothing, unless the file says so."""

    scripts: tuple[Path, ...] = ()  # directories whose scripts may run
    checkouts: tuple[Path, ...] = ()  # directories that hold users' CleanRL checkouts
    env_modules: tuple[str, ...] = ()  # modules that register environments

    def allows_env_module(self, module: str) -> bool:
        return module in self.env_modules

    def allows_script(self, path: Path) -> bool:
        return _lies_under(path, self.scripts)

    def allows_checkout(self, path: Path) -> bool:
        return _lies_under(path, self.checkouts)


def load_settings(path: Path) -> OperatorSettings:
    """Read the settings; a file that does not exist allows nothing."""
    allow = _table(path, _read_toml(path), "allow")
    known = [field.name for field in fields(OperatorSettings)]
    values: dict[str, tuple[Any, ...]] = {}
    for name, value in allow.items():
        if name not in known:
            raise ConfigError(
                f"{path}: allow.{name} is unknown.{suggest(name, known)}",
                hint=f"[allow] may hold {', '.join(known)}.",
            )
        names = _names(path, f"allow.{name}", value)
        values[name] = (
            names if name == "env_modules" else tuple(_directory(path, item) for item in names)
        )
    return OperatorSettings(**values)


def check_env_id(env_id: str, settings: OperatorSettings) -> None:
    """Refuse "module:Env" unless the operator allowed that module: the id alone imports code."""
    module, separator, _ = env_id.partition(":")
    if separator and not settings.allows_env_module(module):
        raise NotAllowed(
            f"env_id={env_id!r} would import the module {module!r}, which is not allowed.",
            hint=f"Add {module!r} to env_modules under [allow] in var/mosaic.toml.",
        )


def _read_toml(path: Path) -> Mapping[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path} is not TOML: {error}.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}.") from None


def _table(path: Path, document: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    for key in document:
        if key != name:
            raise ConfigError(f"{path}: {key!r} is unknown.{suggest(key, [name])} Known: [{name}].")
    table = document.get(name, {})
    if not isinstance(table, dict):
        raise ConfigError(f"{path}: {name}={table!r} is not allowed: give a table, [{name}].")
    return table


def _names(path: Path, key: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
        raise ConfigError(f"{path}: {key}={value!r} is not allowed: give a list of names.")
    return tuple(value)


def _directory(settings: Path, name: str) -> Path:
    """Return the directory that the operator named; a relative one is relative to the file."""
    return (settings.parent / Path(name).expanduser()).resolve()


def _lies_under(path: Path, directories: tuple[Path, ...]) -> bool:
    """Say whether the path is inside one of the directories, links followed."""
    real = path.expanduser().resolve()
    return any(real.is_relative_to(directory) for directory in directories)
