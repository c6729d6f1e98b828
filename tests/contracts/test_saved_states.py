"""What a checkpoint tells without its tensors: also whether its replay buffer is still there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mosaic.contracts.paths import RunPaths
from mosaic.contracts.saved_states import find_states

SNAPSHOT = {"segments": [{"file": "rows-0.zst"}], "tail": {"file": "replay-tail.zst"}}


def save(run_dir: Path, step: int, **document: Any) -> Path:
    path = RunPaths(run_dir).checkpoints / f"step-{step}.ckpt"
    path.mkdir(parents=True)
    (path / "checkpoint.json").write_text(json.dumps({"step": step, "exact": True, **document}))
    return path


def reasons(run_dir: Path) -> dict[int, str]:
    return {state.step: state.why_not_exact for state in find_states(run_dir)}


def test_a_checkpoint_is_exact_unless_something_is_lacking(tmp_path: Path) -> None:
    save(tmp_path, 1)
    save(tmp_path, 2, exact=False)
    save(tmp_path, 3, replay=None)
    assert reasons(tmp_path) == {1: "", 2: "left by a stop", 3: "saved without its replay buffer"}


@pytest.mark.parametrize("lost", ["", "segment", "tail"])
def test_a_replay_buffer_is_whole_or_gone(tmp_path: Path, lost: str) -> None:
    replay = RunPaths(tmp_path).replay
    replay.mkdir(parents=True)
    checkpoint = save(tmp_path, 5, replay=SNAPSHOT)
    if lost != "segment":
        (replay / "rows-0.zst").touch()
    if lost != "tail":
        (checkpoint / "replay-tail.zst").touch()
    assert reasons(tmp_path) == {5: "its replay buffer is gone" if lost else ""}


@pytest.mark.parametrize("segments", [None, 7, [7], [{"file": 7}], [{"file": "../../x\0"}]])
def test_a_damaged_list_of_files_is_no_list(tmp_path: Path, segments: Any) -> None:
    save(tmp_path, 5, replay={"segments": segments, "tail": "x"})
    assert reasons(tmp_path) == {5: ""}
