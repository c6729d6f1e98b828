"""Both databases of a data directory."""

from __future__ import annotations

from dataclasses import dataclass

from mosaic.contracts.paths import VarPaths
from mosaic.trainer.store import migrations
from mosaic.trainer.store.database import Database


@dataclass(frozen=True, slots=True)
class Store:
    """Runs and their lifecycle; metrics apart, since they are many and can be trimmed.

    A run that was accepted survives a power cut: its file syncs at every commit. The metrics' file
    syncs at checkpoints: a power cut takes its last moments together with their offset, and the
    spool gives them again.
    """

    runs: Database
    telemetry: Database

    @classmethod
    def open(cls, paths: VarPaths) -> Store:
        runs = Database(paths.trainer_database, migrations.RUNS, synchronous="FULL")
        try:
            telemetry = Database(
                paths.telemetry_database, migrations.TELEMETRY, synchronous="NORMAL"
            )
        except BaseException:
            runs.close()
            raise
        return cls(runs, telemetry)

    def close(self) -> None:
        self.runs.close()
        self.telemetry.close()
