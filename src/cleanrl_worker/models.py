"""Saved policies: a flat state dict, and beside it what is needed to build the network again."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn

from mosaic.contracts.files import sync_directory, write_json_whole

MODEL_SUFFIX = ".cleanrl_model"


def save_model(path: Path, agent: nn.Module, description: Mapping[str, Any]) -> None:
    """Write `<path>` for `torch.load(weights_only=True)`, and its description as `<stem>.json`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json_whole(path.with_suffix(".json"), dict(description))
    aside = path.with_name(f".{path.name}.tmp")
    state = {name: tensor.detach().cpu() for name, tensor in agent.state_dict().items()}
    with aside.open("wb") as file:
        torch.save(state, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(aside, path)
    sync_directory(path.parent)
