"""The operator's settings: `mosaic.toml` in the data directory."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from mosaic.contracts.errors import ConfigError, NotAllowed, suggest
from mosaic.contracts.parameters import Parameter

_TABLES = ("allow", "trainer")


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


@dataclass(frozen=True, slots=True)
class TrainerSettings:
    """How the trainer daemon works; what the file does not name is found, or has a default."""

    cpus: int | None = None  # None: as many as the machine lets us use
    memory_mb: int | None = None
    gpus: tuple[int, ...] | None = None  # indexes as nvidia-smi counts; (): none, None: all
    port: int = 50055  # 0: any that is free
    contact_timeout_s: float = 90.0  # without a sign for so long, a worker is lost
    stop_grace_s: float = 10.0  # from the request to stop until the kill
    telemetry_limit_mb: int = 20480
    bin_days: float = 7.0  # how long a deleted run can be restored


_TRAINER = {
    parameter.name: parameter
    for parameter in (
        Parameter("cpus", "int", None, "", range=(1, None)),
        Parameter("memory_mb", "int", None, "", range=(1, None)),
        Parameter("gpus", "int[]", None, "", range=(0, None)),
        Parameter("port", "int", None, "", range=(0, 65535)),
        Parameter("contact_timeout_s", "float", None, "", range=(1, 86400)),
        Parameter("stop_grace_s", "float", None, "", range=(0, 3600)),
        Parameter("telemetry_limit_mb", "int", None, "", range=(1, None)),
        Parameter("bin_days", "float", None, "", range=(0, 36500)),
    )
}


def load_settings(path: Path) -> OperatorSettings:
    """Read what the operator allows; a file that does not exist allows nothing."""
    allow = _table(path, _read_toml(path), "allow")
    known = [field.name for field in fields(OperatorSettings)]
    values: dict[str, tuple[Any, ...]] = {}
    for name, value in allow.items():
        _refuse_unknown(path, "allow", name, known)
        names = _names(path, f"allow.{name}", value)
        values[name] = (
            names if name == "env_modules" else tuple(_directory(path, item) for item in names)
        )
    return OperatorSettings(**values)


def load_trainer_settings(path: Path) -> TrainerSettings:
    """Read how the daemon is to work; a file that does not exist leaves every default."""
    values: dict[str, Any] = {}
    for name, value in _table(path, _read_toml(path), "trainer").items():
        _refuse_unknown(path, "trainer", name, list(_TRAINER))
        try:
            values[name] = _TRAINER[name].check(value)
        except ConfigError as error:
            raise ConfigError(f"{path}: trainer.{error.message}") from None
    gpus = values.get("gpus")
    if gpus is not None and len(set(gpus)) < len(gpus):
        raise ConfigError(f"{path}: trainer.gpus={list(gpus)!r} names a GPU twice.")
    return TrainerSettings(**values)


def check_env_id(env_id: str, settings: OperatorSettings) -> None:
    """Refuse "module:Env" unless the operator allowed that module: the id alone imports code."""
    module, separator, _ = env_id.partition(":")
    if separator and not settings.allows_env_module(module):
        raise NotAllowed(
            f"env_id={env_id!r} would import the module {module!r}, which is not allowed.",
            hint=f"Add {module!r} to env_modules under [allow] in var/mosaic.toml.",
        )


def check_checkout(home: Any, settings: OperatorSettings) -> None:
    """Refuse a CleanRL checkout that the operator did not allow: its scripts are run."""
    if isinstance(home, str) and not settings.allows_checkout(Path(home)):
        raise NotAllowed(
            f"extras.cleanrl_home={home!r} is not under a directory that the operator allowed.",
            hint="Add its directory to checkouts under [allow] in var/mosaic.toml.",
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
        if key not in _TABLES:
            known = ", ".join(f"[{table}]" for table in _TABLES)
            raise ConfigError(f"{path}: {key!r} is unknown.{suggest(key, _TABLES)} Known: {known}.")
    table = document.get(name, {})
    if not isinstance(table, dict):
        raise ConfigError(f"{path}: {name}={table!r} is not allowed: give a table, [{name}].")
    return table


def _refuse_unknown(path: Path, table: str, name: str, known: list[str]) -> None:
    if name not in known:
        raise ConfigError(
            f"{path}: {table}.{name} is unknown.{suggest(name, known)}",
            hint=f"[{table}] may hold {', '.join(known)}.",
        )


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
