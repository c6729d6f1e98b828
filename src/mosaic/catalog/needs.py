"""What an environment needs, whether it is there, and the command that brings it."""

from __future__ import annotations

from dataclasses import dataclass

from mosaic.catalog.environments import Environment
from mosaic.catalog.families import Family
from mosaic.contracts.installed import has_library, install_command, missing_modules


@dataclass(frozen=True, slots=True)
class Need:
    """A thing to be installed. `lacks` names what of it is missing; empty where all is there."""

    name: str
    command: str
    lacks: tuple[str, ...] = ()

    @property
    def is_met(self) -> bool:
        return not self.lacks


def needs_of(environment: Environment) -> list[Need]:
    """Return what the environment needs beyond the base."""
    return _needs(environment.extra, environment.family)


def needs_of_family(family: Family) -> list[Need]:
    return _needs(family.extra, family)


def is_installed(environment: Environment) -> bool:
    return all(need.is_met for need in needs_of(environment))


def _needs(extra: str, family: Family) -> list[Need]:
    needs = []
    if extra:
        lacks = tuple(missing_modules(extra))
        needs.append(Need(f"extra {extra}", install_command(extra), lacks))
    if family.apt:
        lacks = tuple(name for name in family.libraries if not has_library(name))
        needs.append(Need("system libraries", f"apt-get install {' '.join(family.apt)}", lacks))
    return needs
