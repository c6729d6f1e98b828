"""The directory of a run: claimed by one worker, and given back whole if nothing was trained."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path

from mosaic.contracts.errors import ConfigError, StorageError
from mosaic.contracts.files import make_directory
from mosaic.contracts.paths import RunPaths


class RunDirectory:
    """A claimed run directory, and the memory of what the claim created."""

    def __init__(self, paths: RunPaths, created: list[Path]) -> None:
        self.paths = paths
        self._created = created  # innermost first
        self._had_events = paths.events.exists()

    @classmethod
    def claim(cls, paths: RunPaths) -> RunDirectory:
        """Create the directory, or take over one that is empty; refuse one that was used."""
        created = [path for path in (paths.root, *paths.root.parents) if not path.exists()]
        directory = cls(paths, created)
        try:
            make_directory(paths.root, what="The run directory")
            directory._refuse_what_was_used()
            _create_logs(paths)
        except (StorageError, ConfigError):
            directory._remove_created()
            raise
        return directory

    def _refuse_what_was_used(self) -> None:
        # Under the daemon the spool of events, which is the worker's stdout, is there already.
        if any(path != self.paths.events for path in self.paths.root.iterdir()):
            raise ConfigError(
                f"run_id={self.paths.root.name!r} was used before: {str(self.paths.root)!r} is not "
                "empty. Give another run_id."
            )

    def discard(self) -> None:
        """Remove everything that this run created."""
        for path in self.paths.root.iterdir():
            if path == self.paths.events and self._had_events:
                continue
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
        self._remove_created()

    def _remove_created(self) -> None:
        for path in self._created:
            # Another run may have put something there by now: then it stays.
            with contextlib.suppress(OSError):
                path.rmdir()


def _create_logs(paths: RunPaths) -> None:
    """Create the log folder, which fails for the second of two workers with the same run id."""
    try:
        paths.logs.mkdir()
    except FileExistsError:
        raise ConfigError(
            f"run_id={paths.root.name!r} is in use by another worker. Give another run_id."
        ) from None
    except OSError as error:
        raise StorageError(
            f"The run directory {str(paths.root)!r} cannot be written: {error.strerror}."
        ) from None
