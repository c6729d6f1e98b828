"""Checkpoints of agents whose whole state is JSON: written aside, synced, renamed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mosaic.contracts.errors import ConfigError, StorageError
from mosaic.contracts.files import read_json, write_json_whole
from mosaic.contracts.saved_states import find_states
from mosaic.workers.solo.recorder import RunRecorder

DOCUMENT = "checkpoint.json"
FORMAT_VERSION = 1


def save_checkpoint(
    recorder: RunRecorder, step: int, state: Mapping[str, Any], *, exact: bool = True
) -> Path:
    """Write the state of a run at a step; it is whole or absent, and the oldest ones go."""
    settings, directory = recorder.settings, recorder.paths.checkpoints
    path = directory / f"step-{step}.ckpt"
    aside = directory / f".step-{step}.tmp"
    document = {
        "format_version": FORMAT_VERSION,
        "run_id": settings.run_id,
        "step": step,
        "exact": exact,
        "algo": settings.algo,
        "env_id": settings.env_id,
        "seed": settings.seed,
        "settings": dict(settings.params),
        "state": dict(state),
    }
    try:
        shutil.rmtree(aside, ignore_errors=True)
        aside.mkdir(parents=True)
        write_json_whole(aside / DOCUMENT, document)
        if path.exists():
            shutil.rmtree(path)
        os.rename(aside, path)
        _drop_old(recorder.paths.root, int(settings.option("keep_checkpoints")))
    except OSError as error:
        raise StorageError(f"The checkpoint {path.name!r} cannot be written: {error}.") from None
    recorder.checkpoint_saved(path, step, exact=exact)
    return path


def _drop_old(run_dir: Path, keep: int) -> None:
    for state in find_states(run_dir)[:-keep]:
        shutil.rmtree(state.path, ignore_errors=True)


def read_checkpoint(path: Path, *, algo: str) -> dict[str, Any]:
    """Return the document of a checkpoint, or of a policy file, of this algorithm."""
    document = read_json(path if path.is_file() else path / DOCUMENT, what="The checkpoint")
    if not isinstance(document, dict) or not isinstance(document.get("state"), dict):
        raise ConfigError(f"{str(path)!r} is no checkpoint: it holds no state.")
    if document.get("algo") != algo:
        raise ConfigError(
            f"{str(path)!r} is a checkpoint of {document.get('algo')!r}, not of {algo!r}.",
            hint="Give the algorithm that wrote it.",
        )
    return document
