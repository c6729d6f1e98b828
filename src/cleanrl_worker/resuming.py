"""Going on from a checkpoint, or starting from a saved policy's weights."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from torch import Tensor

from cleanrl_worker.checkpoint import Checkpoint, read_checkpoint
from cleanrl_worker.models import MODEL_SUFFIX, load_model
from mosaic.contracts.errors import ConfigError
from mosaic.contracts.parameters import Parameter

# Where a run writes and what it is watched by is the new run's own affair.
_OWN = frozenset(
    {
        "exp_name",
        "cuda",
        "track",
        "wandb_project_name",
        "wandb_entity",
        "tensorboard_dir",
        "capture_video",
        "save_model",
        "upload_model",
        "hf_entity",
        "checkpoint_path",
        "dry_run",
    }
)
_PACKAGES = (
    "torch",
    "jax",
    "flax",
    "optax",
    "numpy",
    "gymnasium",
    "mujoco",
    "box2d",
    "minigrid",
    "ale-py",
    "envpool",
)


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a resumed run comes from: a checkpoint, or weights alone."""

    path: Path
    checkpoint: Checkpoint | None = None
    weights: Mapping[str, Tensor] | None = None

    def settings(self) -> Mapping[str, Any]:
        return self.checkpoint.document["settings"] if self.checkpoint is not None else {}


def read_origin(path: Path, algo: str) -> Origin:
    """Read what `checkpoint_path` names; one of another algorithm is refused."""
    if path.name.endswith(MODEL_SUFFIX):
        return Origin(path, weights=load_model(path).tensors)
    checkpoint = read_checkpoint(path)
    if checkpoint.document["algo"] != algo:
        raise ConfigError(
            f"Checkpoint {path.name!r} is of {checkpoint.document['algo']!r}, not of {algo!r}."
        )
    return Origin(path, checkpoint=checkpoint)


def take_over(parameters: Sequence[Parameter], origin: Origin | None) -> tuple[Parameter, ...]:
    """Return the parameters with the checkpoint's settings as their defaults."""
    settings = origin.settings() if origin is not None else {}
    return tuple(
        replace(parameter, default=_stored(parameter, settings[parameter.name]))
        if parameter.name in settings and parameter.name not in _OWN
        else parameter
        for parameter in parameters
    )


def _stored(parameter: Parameter, value: Any) -> Any:
    """Return a stored setting; an infinity was stored as text."""
    is_text_of_number = parameter.type == "float" and isinstance(value, str)
    return parameter.check(float(value) if is_text_of_number else value)


def check_same_run(origin: Origin, values: Mapping[str, Any]) -> None:
    """Refuse to go on with another environment or seed, or to a total that is behind."""
    settings = origin.settings()
    for name in ("env_id", "seed"):
        if name in settings and values[name] != settings[name]:
            raise ConfigError(
                f"{name}={values[name]!r} differs from the checkpoint's {settings[name]!r}: "
                "give that."
            )
    # A run that was killed while its model was saved stands at its end, and that remains to do.
    checkpoint = origin.checkpoint
    if checkpoint is not None and values["total_timesteps"] < checkpoint.step:
        raise ConfigError(
            f"total_timesteps={values['total_timesteps']} is below the checkpoint's step "
            f"{checkpoint.step}: it is the total, earlier steps included."
        )


def describe_machine(device: str) -> dict[str, str]:
    """Return what results may depend on beside the settings."""
    machine = {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cpu": _cpu_model(),  # libraries choose their kernels by it
        "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "not set"),  # for NumPy's products
        "device": device,
    }
    for package in _PACKAGES:
        try:
            machine[package] = version(package)
        except PackageNotFoundError:
            continue
    return machine


def _cpu_model() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor()
    found = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return found[1].strip() if found else platform.processor()


def differences(origin: Origin, values: Mapping[str, Any], machine: Mapping[str, str]) -> list[str]:
    """Name what is not as it was: changed settings, another machine, other packages."""
    if origin.checkpoint is None:
        return [f"{origin.path.name}: weights only; optimiser, step and random states start anew."]
    before = origin.checkpoint.document.get("machine")
    before = before if isinstance(before, dict) else {}
    found = [
        f"{name} was {before[name]}, is {machine.get(name, 'not installed')}."
        for name in before
        if before[name] != machine.get(name)
    ]
    settings = origin.settings()
    return found + [
        f"{name} was {settings[name]}, is {value}."
        for name, value in values.items()
        if name in settings and name not in _OWN and _plain(value) != _plain(settings[name])
    ]


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
