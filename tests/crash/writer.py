"""Processes that write checkpoint after checkpoint until they are killed.

`python writer.py DIRECTORY` imports torch once, and for every line on stdin, the first step, forks
a writer. A writer prints its process id, then each step that it has saved. Every tensor of the
checkpoint at step N holds N.
"""

from __future__ import annotations

import itertools
import os
import sys
from pathlib import Path
from typing import Any

import torch

from cleanrl_worker.checkpoint import Checkpoint, read_checkpoint
from cleanrl_worker.cuts import Checkpoints

KEEP = 2
SHAPES = {"weights": (512, 1024), "moments": (512, 1024), "bias": (1024,)}
DESCRIPTION: dict[str, Any] = {
    "exact": True,
    "algo": "ppo",
    "env_id": "CartPole-v1",
    "seed": 1,
    "settings": {},
}


class Part:
    """Training state that can be told from its step."""

    def __init__(self) -> None:
        self.step = 0

    def state_dict(self) -> dict[str, Any]:
        tensors = {name: torch.full(shape, float(self.step)) for name, shape in SHAPES.items()}
        return {"step": self.step, "tensors": tensors}

    def load_state_dict(self, state: Any) -> None:
        self.step = state["step"]


def check(path: Path) -> Checkpoint:
    """Read a checkpoint whole, and check every number of it."""
    checkpoint = read_checkpoint(path)
    part = checkpoint.state["part"]
    assert part["step"] == checkpoint.step
    assert part["tensors"].keys() == SHAPES.keys()
    for name, tensor in part["tensors"].items():
        assert tensor.shape == SHAPES[name]
        assert (tensor == checkpoint.step).all()
    return checkpoint


def write(directory: Path, first_step: int) -> None:
    part = Part()
    checkpoints = Checkpoints(directory, 1, KEEP, last_step=0)
    checkpoints.track({"part": part})
    print(os.getpid(), flush=True)
    for part.step in itertools.count(first_step):
        checkpoints.save(part.step, DESCRIPTION)
        print(part.step, flush=True)


def main(directory: str) -> None:
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            write(Path(directory), int(line))
        os.waitpid(child, 0)
        print("gone", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
