"""A run lost to a crash goes on from its last checkpoint, as a new run."""

from __future__ import annotations

import json
import os
import signal

import pytest

from mosaic.proto import trainer_pb2 as pb
from tests.trainer.daemons import Daemon


def submit(daemon: Daemon, **extras: object) -> str:
    config = {
        "algo": "ppo",
        "env_id": "CartPole-v1",
        "total_timesteps": 200_000,
        "seed": 1,
        "extras": {"checkpoint_interval": 4096, "save_model": False, **extras},
    }
    document = {"metadata": {"worker": {"module": "cleanrl_worker.cli", "config": config}}}
    request = pb.SubmitRunRequest(config_json=json.dumps(document))
    return str(daemon.call("SubmitRun", request).run.run_id)


def kill_worker(daemon: Daemon, run_id: str) -> None:
    state = json.loads(daemon.paths.proxy(run_id).state.read_text())
    os.kill(state["worker"]["pid"], signal.SIGKILL)


def has_checkpoint(daemon: Daemon, run_id: str) -> bool:
    lines = daemon.details(run_id).event_lines
    return any(json.loads(line)["event"] == "checkpoint_saved" for line in lines)


@pytest.mark.timeout(180)
def test_a_crashed_run_goes_on_as_a_new_one(daemon: Daemon) -> None:
    run_id = submit(daemon, auto_resume=True)
    daemon.wait(lambda: has_checkpoint(daemon, run_id), "a checkpoint", 90)
    kill_worker(daemon, run_id)
    crashed = daemon.wait_for(run_id, "TERMINATED")
    assert (crashed.outcome, crashed.signal) == ("failed", 9)
    request = pb.ListRunsRequest(parent_run_id=run_id)
    daemon.wait(lambda: len(daemon.call("ListRuns", request).runs) == 1, "the continuation")
    [successor] = daemon.call("ListRuns", request).runs
    daemon.wait_for(successor.run_id, "EXECUTING", "TERMINATED", timeout_s=60)
    first = json.loads(daemon.details(successor.run_id).event_lines[0])
    assert first["payload"]["mode"] == "resume_training"
    manifest = json.loads(daemon.details(successor.run_id).manifest_json)
    assert (manifest["lineage"]["parent_run_id"], manifest["lineage"]["exact"]) == (run_id, True)
    assert daemon.run(successor.run_id).step >= 4096  # never again from step 0
    daemon.call("CancelRun", pb.RunRequest(run_id=successor.run_id))
    daemon.wait_for(successor.run_id, "TERMINATED")
    assert len(daemon.call("ListRuns", pb.ListRunsRequest()).runs) == 2


@pytest.mark.timeout(180)
def test_without_the_wish_a_crashed_run_stays_where_it_is(daemon: Daemon) -> None:
    run_id = submit(daemon)
    daemon.wait(lambda: has_checkpoint(daemon, run_id), "a checkpoint", 90)
    kill_worker(daemon, run_id)
    daemon.wait_for(run_id, "TERMINATED")
    assert len(daemon.call("ListRuns", pb.ListRunsRequest()).runs) == 1
