"""An algorithm process without an algorithm: it speaks the channel, and misbehaves as told.

`python fake_algorithm.py SCENARIO NAME [flags]`
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cleanrl_worker.channel import Channel
from cleanrl_worker.checkpoint_document import DOCUMENT, seal
from mosaic.workers.processes import die_with_parent

RETURN = "charts/episodic_return"


def write_document(directory: Path, step: int, **values: Any) -> Path:
    """Write what a checkpoint says of itself, without the rest of it."""
    path = directory / f"step-{step}.ckpt"
    path.mkdir(parents=True)
    document = {
        "format_version": 1,
        "step": step,
        "exact": True,
        "algo": "ppo",
        "env_id": "CartPole-v1",
        "seed": 5,
        "settings": {},
        "files": {},
        "state": {},
    }
    (path / DOCUMENT).write_bytes(seal({**document, **values}))
    return path


def complete(channel: Channel) -> int:
    channel.send("prepared", device="cpu", backend="fake", warnings=[])
    for step in range(1, 6):
        channel.send("metric", step=step * 100, values={RETURN: float(step), "charts/SPS": 50.0})
    Path("runs/fake").mkdir(parents=True)
    Path("runs/fake/ppo.cleanrl_model").write_bytes(b"weights")
    channel.send("model_saved", path="runs/fake/ppo.cleanrl_model")
    for episode, value in enumerate([100.0, 300.0]):
        channel.send("metric", step=episode, values={"eval/episodic_return": value})
    channel.send("finished", status="completed", steps=500, steps_per_second=123.4)
    return 0


def checkpoints(channel: Channel) -> int:
    channel.send("prepared", device="cpu", backend="fake", warnings=[])
    for step in (900, 1000):
        write_document(Path("checkpoints"), step, mean_return=2000.0 - step)
        channel.send("checkpoint_saved", step=step, path=f"checkpoints/step-{step}.ckpt")
    return complete(channel)


def show_environment(channel: Channel) -> int:
    shown = {
        "environment": dict(os.environ),
        "cwd": os.getcwd(),
        "argv": sys.argv[2:],
        "path": sys.path,
        "group": os.getpgrp(),
        "descriptors": sorted(int(name) for name in os.listdir("/proc/self/fd")),
    }
    Path("shown.json").write_text(json.dumps(shown))
    print("printed on stdout")
    print("printed on stderr", file=sys.stderr)
    return complete(channel)


def reject(channel: Channel) -> int:
    channel.send("rejected", code="config", message="num_minibatches=6 does not divide it.")
    return 2


def reject_dependency(channel: Channel) -> int:
    channel.send("rejected", code="dependency", message="Install the extra 'atari'.")
    return 3


def crash(channel: Channel) -> int:
    channel.send("prepared", device="cpu", backend="fake", warnings=[])
    channel.send("metric", step=7, values={RETURN: 1.0})
    print("the key is", os.environ.get("WANDB_API_KEY"), file=sys.stderr)
    raise ValueError("the loss is nan")


def run_out_of_disk(channel: Channel) -> int:
    channel.send("prepared", device="cpu", backend="fake", warnings=[])
    channel.send("rejected", code="storage", message="The checkpoint cannot be written.")
    return 2


def exit_with_two(channel: Channel) -> int:
    return 2


def end_early(channel: Channel) -> int:
    channel.send("prepared", device="cpu", backend="fake", warnings=[])
    return 0


def be_killed(channel: Channel) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return 0


def garbage(channel: Channel) -> int:
    descriptor = channel._descriptor
    assert descriptor is not None
    os.write(descriptor, b"not json\n\xff\n")
    channel.send("checkpoint_saved", step=1, text="x" * 10_000_000)
    return complete(channel)


def leave_a_child_with_the_channel(channel: Channel) -> int:
    if os.fork() == 0:
        time.sleep(20)
        os._exit(0)
    return complete(channel)


def wait(channel: Channel) -> int:
    """Wait for SIGTERM, then stop in good order."""
    stopped: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: stopped.append(number))
    signal.signal(signal.SIGINT, lambda number, _: None)
    channel.send("prepared", device="cpu", backend="fake", warnings=[])
    channel.send("metric", step=42, values={RETURN: 1.0, "charts/SPS": 9.0})
    while not stopped:
        time.sleep(0.02)
    channel.send("finished", status="stopped", steps=42, steps_per_second=9.0)
    return 143


def hang(channel: Channel) -> int:
    """Ignore every request to stop."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    channel.send("prepared", device="cpu", backend="fake", warnings=[])
    channel.send("metric", step=42, values={RETURN: 1.0})
    time.sleep(60)
    return 0


def flood(channel: Channel) -> int:
    channel.send("prepared", device="cpu", backend="fake", warnings=[])
    for step in range(50_000):
        channel.send("metric", step=step, values={RETURN: float(step)})
    channel.send("finished", status="completed", steps=50_000, steps_per_second=1.0)
    return 0


def summarise(channel: Channel) -> int:
    assert sys.argv[-1] == "--dry-run"
    Path("left-over").write_text("x")
    print("noise")
    channel.send(
        "summary",
        env={"id": "CartPole-v1", "family": "gymnasium"},
        agent={"architecture": "MLPAgent", "parameters": 9155},
        device="cpu",
        resources={"memory_mb": 400},
        warnings=["a note"],
    )
    return 0


SCENARIOS: dict[str, Callable[[Channel], Any]] = {
    name: value for name, value in list(globals().items()) if callable(value) and name.islower()
}

if __name__ == "__main__":
    channel = Channel.from_environment()
    die_with_parent()
    sys.exit(SCENARIOS[sys.argv[1]](channel))
