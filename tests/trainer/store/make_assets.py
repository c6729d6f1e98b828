"""Write the databases of the present schema version that later versions must open.

`python -m tests.trainer.store.make_assets` is run once for each released version: the files of a
version that is out are never written again.
"""

from __future__ import annotations

import math
import shutil
import tempfile
from pathlib import Path

from mosaic.contracts.paths import VarPaths
from mosaic.contracts.states import Outcome, RunState
from mosaic.trainer.store import events, migrations, recordings
from mosaic.trainer.store.events import StoredEvent
from mosaic.trainer.store.runs import RunRecord
from mosaic.trainer.store.store import Store
from tests.trainer.store.content import append, insert, single

ASSETS = Path(__file__).parent / "assets"

ENDED = RunRecord(
    run_id="01JASSET0000000000000ENDED",
    name="an ended run",
    state=RunState.TERMINATED,
    created_at=1_700_000_000.25,
    outcome=Outcome.FAILED,
    reason="killed by signal 9",
    algo="ppo",
    env_id="CartPole-v1",
    seed=1,
    worker="cleanrl",
    step=1_234,
    ended_at=1_700_000_100.5,
    signal=9,
    config={"run_name": "an ended run"},
    last_lines=("Killed",),
)
WAITING = RunRecord("01JASSET000000000000WAITING", "a waiting run", RunState.INIT, 1_700_000_200.0)
EVENTS = [StoredEvent(0, "run_started", 1.5, '{"event":"run_started"}')]
VALUES = [math.nan if step % 50 == 7 else float(step % 17) for step in range(1_234)]

# worker, agent, episode, step, seed, action, observation, reward, flags, info, frame, time
STEP = ("worker", "agent", 0, 0, 7, 2, "[1,2]", 0.5, 1, '{"beliefs":["at(3)"]}', None, 1.5)
# worker, agent, episode, return, steps, flags, seed, metadata, time
EPISODE = ("worker", "agent", 0, 0.5, 1, 1, 7, None, 1.5)


def asset(path: Path, version: int) -> Path:
    return ASSETS / f"{path.stem}-{version}.sqlite"


def main() -> None:
    ASSETS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as directory:
        paths = VarPaths(Path(directory))
        store = Store.open(paths)
        insert(store.runs, ENDED, WAITING)
        store.runs.write(lambda c: events.append(c, ENDED.run_id, EVENTS, 40)).result()
        points = [single("charts/SPS", step, value) for step, value in enumerate(VALUES)]
        append(store.telemetry, ENDED.run_id, points, next_offset=9_000)
        store.telemetry.write(
            lambda c: recordings.insert(c, ENDED.run_id, [STEP], [EPISODE])
        ).result()
        store.close()
        keep(paths.trainer_database, len(migrations.RUNS))
        keep(paths.telemetry_database, len(migrations.TELEMETRY))


def keep(path: Path, version: int) -> None:
    """Keep the file as that version's, unless there is one: what is out stays as it is."""
    if not asset(path, version).exists():
        shutil.copy(path, asset(path, version))


if __name__ == "__main__":
    main()
