"""The environments of this machine, found out once for all pages."""

from __future__ import annotations

import asyncio
import logging
from subprocess import TimeoutExpired

from mosaic.catalog.environments import Environments, documented
from mosaic.catalog.listing import kept_environments, list_environments_async
from mosaic.contracts.paths import VarPaths

_LOG = logging.getLogger(__name__)


class EnvironmentIndex:
    """What is known of the environments. `is_whole` says whether the packages were asked."""

    def __init__(self, paths: VarPaths) -> None:
        self._paths = paths
        self._lock = asyncio.Lock()
        kept = kept_environments(paths)
        self.is_whole = kept is not None
        self.environments: Environments = kept or documented()

    async def complete(self) -> Environments:
        """Ask the packages, once; a process of its own takes some seconds for it."""
        async with self._lock:
            if not self.is_whole:
                try:
                    self.environments = await list_environments_async(self._paths)
                except TimeoutExpired:
                    _LOG.warning("the survey of the environments took too long")
                self.is_whole = True
        return self.environments


_indexes: dict[VarPaths, EnvironmentIndex] = {}


def environment_index(paths: VarPaths) -> EnvironmentIndex:
    """Return the index of this GUI, which all of its pages share."""
    if paths not in _indexes:
        _indexes[paths] = EnvironmentIndex(paths)
    return _indexes[paths]
