"""What subscribers without credits cost a run of the telemetry lane.

    python benchmarks/starved_subscribers.py [--subscribers 10] [--steps 400000] [--rounds 5]

A worker walks a number of steps at a rate that the daemon just keeps up with, in turns with and
without subscribers that never ask for more than their first 200 credits. Compared is the time from
the first step to the end of the run, and the processor time of the daemon.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import threading
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT)]

from tests.trainer.daemons import SITE, Daemon, running  # noqa: E402

from mosaic.client.blocking import Client  # noqa: E402 - needs the path above
from mosaic.contracts.tokens import read_token  # noqa: E402
from mosaic.proto import trainer_pb2 as pb  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--subscribers", type=int, default=10)
    parser.add_argument("--steps", type=int, default=400_000)
    parser.add_argument("--rate", type=int, default=40_000, help="steps a second that are written")
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    path = os.pathsep.join(filter(None, [str(SITE), os.environ.get("PYTHONPATH")]))
    os.environ["PYTHONPATH"] = path
    alone, watched = [], []
    with tempfile.TemporaryDirectory() as directory, running(Path(directory) / "var") as daemon:
        for _ in range(given.rounds):
            alone.append(measure(daemon, given.steps, given.rate, 0))
            watched.append(measure(daemon, given.steps, given.rate, given.subscribers))
    for name, figures in (("no subscribers", alone), (f"{given.subscribers} starved", watched)):
        took, processor = (statistics.median(column) for column in zip(*figures, strict=True))
        print(f"{name:16} {took:6.2f} s, {processor:6.2f} s of the daemon's processor time")
    more = [
        statistics.median(row[n] for row in watched) / statistics.median(row[n] for row in alone)
        - 1
        for n in (0, 1)
    ]
    print(f"the run took {more[0]:+.1%}, the daemon's processor time {more[1]:+.1%}")
    return 0 if more[0] <= 0.02 else 1


def measure(daemon: Daemon, steps: int, rate: int, subscribers: int) -> tuple[float, float]:
    """Return how long a run took, and the processor time of the daemon meanwhile."""
    assert daemon.process is not None
    process = psutil.Process(daemon.process.pid)
    run_id = daemon.submit("Walk-v0", steps=steps, rate=float(rate))
    clients = [connect(daemon) for _ in range(subscribers)]
    flows: list[int] = []
    threads = [
        threading.Thread(target=watch, args=(client, run_id, flows), daemon=True)
        for client in clients
    ]
    for thread in threads:
        thread.start()
    before = process.cpu_times()
    run = daemon.wait_for(run_id, "TERMINATED", timeout_s=300)
    after = process.cpu_times()
    took = run.ended_at - run.started_at  # from the first step that was stored to the last
    for thread in threads:
        thread.join(10)
    for client in clients:
        client.close()
    assert run.outcome == "succeeded", run
    assert flows.count(pb.STARVED) >= subscribers, "they did not starve"
    return took, after.user + after.system - before.user - before.system


def connect(daemon: Daemon) -> Client:
    token = read_token(daemon.paths.daemon_token)
    assert token is not None
    port = json.loads(daemon.paths.daemon_info.read_text())["port"]
    return Client(f"127.0.0.1:{port}", token)


def watch(client: Client, run_id: str, flows: list[int]) -> None:
    for update in client.steps(run_id, follow=True, only_new=True):
        flows.append(update.flow)


if __name__ == "__main__":
    sys.exit(main())
