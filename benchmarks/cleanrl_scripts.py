"""Run scripts of an unmodified CleanRL checkout through the daemon, and look at what each leaves.

    python benchmarks/cleanrl_scripts.py --cleanrl-home PATH [--bundle NAME] [--script ppo ...]

Needs the bundle in the data directory: `mosaic bundle create cleanrl --cleanrl`. The checkout is
allowed by `mosaic.toml` there. Printed for each script: how the run ended, its speed, live frames,
metrics in the store, event files, videos; at the end what git says of the checkout. A script that
lacks one of them, or a checkout that changed, is an exit code of 1.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mosaic.client.blocking import Client
from mosaic.client.connecting import connect
from mosaic.contracts.checkouts import script_schema
from mosaic.contracts.errors import EXIT_OK, MosaicError
from mosaic.contracts.paths import VarPaths
from mosaic.contracts.states import RunState, is_terminal, read_state
from mosaic.contracts.train_request import train_documents, train_request
from mosaic.fastlane.reader import LaneReader
from mosaic.workers.discovery import load_catalogue

HEADINGS = (
    *("script", "environment", "steps", "outcome", "s", "steps/s"),
    *("frame", "tags", "points", "event files", "videos"),
)
TIMEOUT_S = 900
POLL_S = 0.25


@dataclass(frozen=True, slots=True)
class Row:
    script: str
    env_id: str
    steps: int
    settings: dict[str, Any] = field(default_factory=dict)


_REPLAY = {"learning_starts": 1000}
_GAMES = {"buffer_size": 2000, "learning_starts": 500}
ROWS = (
    Row("ppo", "CartPole-v1", 20_000, {"capture_video": True}),
    Row("dqn", "CartPole-v1", 10_000, {**_REPLAY, "buffer_size": 5000}),
    Row("c51", "CartPole-v1", 6_000, {**_REPLAY, "buffer_size": 5000}),
    Row("pqn", "CartPole-v1", 20_000),
    Row("ppo_continuous_action", "HalfCheetah-v4", 8_192),
    Row("rpo_continuous_action", "Hopper-v4", 8_192),
    Row("ddpg_continuous_action", "Hopper-v4", 3_000, dict(_REPLAY)),
    Row("td3_continuous_action", "Walker2d-v4", 3_000, dict(_REPLAY)),
    Row("sac_continuous_action", "Hopper-v4", 2_000, dict(_REPLAY)),
    Row("ppo_atari", "BreakoutNoFrameskip-v4", 3_072),
    Row("dqn_atari", "PongNoFrameskip-v4", 2_000, dict(_GAMES)),
    Row("c51_atari", "BreakoutNoFrameskip-v4", 2_000, dict(_GAMES)),
)


@dataclass(slots=True)
class Seen:
    """What was seen of a run."""

    outcome: str = ""
    reason: str = ""
    seconds: float = 0.0
    speed: float | None = None
    frame: str = ""
    tags: int = 0
    points: int = 0
    event_files: int = 0
    videos: int = 0

    def lacks(self, row: Row) -> list[str]:
        wanted = {
            "a good end": self.outcome == "succeeded",
            "frames": bool(self.frame),
            "metrics": self.points > 0,
            "event files": self.event_files > 0,
            "videos": self.videos > 0 or not row.settings.get("capture_video"),
        }
        return [name for name, is_there in wanted.items() if not is_there]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cleanrl-home", type=Path, default=os.environ.get("CLEANRL_HOME"))
    parser.add_argument("--bundle", default="cleanrl")
    parser.add_argument("--script", action="append", choices=[row.script for row in ROWS])
    given = parser.parse_args(arguments)
    if given.cleanrl_home is None:
        print("No CLEANRL_HOME is set: there is no checkout to run.")
        return EXIT_OK
    home = Path(given.cleanrl_home).absolute()
    rows = [row for row in ROWS if not given.script or row.script in given.script]
    try:
        return run_all(rows, home, given.bundle)
    except MosaicError as error:
        print(error.one_line(), file=sys.stderr)
        return error.exit_code


def run_all(rows: Sequence[Row], home: Path, bundle: str) -> int:
    before = git(home, "status", "--porcelain", "--ignored")
    print(f"CleanRL {git(home, 'rev-parse', '--short=8', 'HEAD')}, bundle {bundle}")
    print(
        "| script | environment | steps | outcome | s | steps/s | frame | tags | points |", end=""
    )
    print(" event files | videos |\n|" + "---|" * 11, flush=True)
    is_whole = True
    with connect(VarPaths.default()) as client:
        for row in rows:
            seen = run_one(client, row, home, bundle)
            print(line(row, seen), flush=True)
            if lacking := seen.lacks(row):
                is_whole = False
                print(f"{row.script} lacks {', '.join(lacking)}: {seen.reason}", file=sys.stderr)
        is_whole &= stops(client, rows[0], home, bundle)
    after = git(home, "status", "--porcelain", "--ignored")
    is_whole &= after == before
    print(f"\ngit status of the checkout, before: {before or 'clean'}; after: {after or 'clean'}")
    return EXIT_OK if is_whole else 1


def submit(client: Client, row: Row, home: Path, bundle: str, steps: int) -> str:
    """Submit the run as `mosaic train` does."""
    schema = script_schema(home, f"cleanrl:{row.script}")
    given = {
        "env_id": row.env_id,
        "total_timesteps": steps,
        "seed": 1,
        "cleanrl_home": str(home),
        "bundle": bundle,
        **row.settings,
    }
    entry = load_catalogue().script(schema.name, home)
    [document] = train_documents(train_request(schema, given), entry.worker)
    return client.submit(document).run.run_id


def run_one(client: Client, row: Row, home: Path, bundle: str) -> Seen:
    seen, started = Seen(), time.monotonic()
    run_id = submit(client, row, home, bundle, row.steps)
    with LaneReader(run_id) as reader:
        while time.monotonic() - started < TIMEOUT_S:
            frame = reader.read()
            if frame is not None:
                height, width = frame.pixels.shape[:2]
                seen.frame = f"{width}x{height}"
            run = client.get_run(run_id).run
            if is_terminal(read_state(run.state)):
                break
            time.sleep(POLL_S)
    details = client.get_run(run_id)
    seen.seconds = time.monotonic() - started
    seen.outcome, seen.reason = details.run.outcome, details.run.reason
    seen.speed = details.run.steps_per_second if details.run.HasField("steps_per_second") else None
    for update in client.metrics(run_id):
        seen.tags += len(update.series)
        seen.points += sum(series.total_points for series in update.series)
    folder = Path(details.run_dir)
    seen.event_files = len(list((folder / "tensorboard").glob("events.out.tfevents.*")))
    seen.videos = len(list((folder / "videos").rglob("*.mp4")))
    return seen


def stops(client: Client, row: Row, home: Path, bundle: str) -> bool:
    """Pause, continue and cancel a long run of the first script, and say whether all went well."""
    run_id = submit(client, row, home, bundle, 10_000_000)
    states = [wait(client, run_id, RunState.EXECUTING)]
    client.pause(run_id)
    states.append(wait(client, run_id, RunState.PAUSED))
    client.unpause(run_id)
    states.append(wait(client, run_id, RunState.EXECUTING))
    client.cancel(run_id)
    states.append(wait(client, run_id, RunState.TERMINATED))
    outcome = client.get_run(run_id).run.outcome
    print(f"\n{row.script}, paused, continued and cancelled: {', '.join(states)}, {outcome}")
    return outcome == "cancelled" and states[1] == RunState.PAUSED


def wait(client: Client, run_id: str, wanted: RunState) -> str:
    until = time.monotonic() + TIMEOUT_S
    state = ""
    while state != wanted and time.monotonic() < until:
        time.sleep(POLL_S)
        state = client.get_run(run_id).run.state
    return state


def line(row: Row, seen: Seen) -> str:
    speed = "-" if seen.speed is None else f"{seen.speed:.0f}"
    cells = (row.script, row.env_id, row.steps, seen.outcome, f"{seen.seconds:.0f}", speed)
    counts = (seen.frame or "none", seen.tags, seen.points, seen.event_files, seen.videos)
    return "| " + " | ".join(map(str, (*cells, *counts))) + " |"


def git(home: Path, *words: str) -> str:
    """Ask git without letting it refresh its index, which is a write."""
    done = subprocess.run(
        ["git", "--no-optional-locks", "-C", str(home), *words], capture_output=True, text=True
    )
    return done.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
