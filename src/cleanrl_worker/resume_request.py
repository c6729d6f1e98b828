"""What a config asks to go on from, found by the worker: without torch, before anything starts."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

from cleanrl_worker.checkpoint_document import DOCUMENT, find_checkpoints, read_document
from cleanrl_worker.config import CleanRLWorkerConfig
from mosaic.contracts.errors import ConfigError
from mosaic.contracts.worker_config import check_text

MODE = "resume_training"


def resolve_checkpoint(config: CleanRLWorkerConfig) -> CleanRLWorkerConfig:
    """Return the config with an absolute path and, where it names none, the checkpoint's seed.

    The rest of the checkpoint's settings is taken over by the algorithm process, which is told
    only what the config itself says.
    """
    given = config.options.get("checkpoint_path")
    if config.mode != MODE:
        if given is not None:
            raise ConfigError(f"extras.checkpoint_path needs extras.mode={MODE!r}.")
        return config
    if given is None:
        raise ConfigError(
            f"extras.mode={MODE!r} needs extras.checkpoint_path: a checkpoint, or a .cleanrl_model "
            "file for its weights alone."
        )
    path = Path(os.path.abspath(check_text("extras.checkpoint_path", given)))
    if not path.exists():
        raise ConfigError(f"extras.checkpoint_path={given!r} does not exist: {str(path)!r}.")
    seed = _read_seed(path) if path.is_dir() else None
    return dataclasses.replace(
        config,
        seed=seed if config.seed is None else config.seed,
        extras={**config.extras, "checkpoint_path": str(path)},
    )


def _read_seed(path: Path) -> int:
    if not (path / DOCUMENT).exists():
        newest = [*find_checkpoints(path), *find_checkpoints(path / "checkpoints")][-1:]
        hint = f" Name one of those in it, such as {str(newest[0])!r}." if newest else ""
        raise ConfigError(
            f"extras.checkpoint_path={str(path)!r} is no checkpoint: it holds no {DOCUMENT}.{hint}"
        )
    return int(read_document(path)["seed"])
