"""The GPUs of this machine, as its driver lists them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

_QUERY = (
    "nvidia-smi",
    "--query-gpu=index,uuid,name,memory.total",
    "--format=csv,noheader,nounits",
)
# A driver that is stuck answers never; a healthy one takes a second on a machine of eight.
_TIMEOUT_S = 20.0


@dataclass(frozen=True, slots=True)
class GpuDevice:
    index: int  # as nvidia-smi counts, by PCI bus
    uuid: str
    name: str
    memory_mb: int


@dataclass(frozen=True, slots=True)
class GpuSurvey:
    """What was found, and what went wrong on the way."""

    devices: tuple[GpuDevice, ...] = ()
    problem: str = ""


def survey_gpus() -> GpuSurvey:
    """Ask the driver; a machine without one has no GPU, and that is no problem."""
    try:
        answer = subprocess.run(
            _QUERY, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_TIMEOUT_S
        )
    except FileNotFoundError:
        return GpuSurvey()
    except (OSError, UnicodeDecodeError, subprocess.TimeoutExpired) as error:
        return GpuSurvey(problem=f"nvidia-smi did not answer: {error}")
    if answer.returncode != 0:
        words = " ".join((answer.stderr or answer.stdout).split())
        return GpuSurvey(problem=f"nvidia-smi failed: {words or answer.returncode}")
    try:
        return GpuSurvey(tuple(_device(line) for line in answer.stdout.splitlines() if line))
    except ValueError as error:
        return GpuSurvey(problem=f"nvidia-smi printed what we do not understand: {error}")


def _device(line: str) -> GpuDevice:
    index, uuid, rest = line.split(",", 2)
    name, memory = rest.rsplit(",", 1)  # a name may hold a comma
    try:
        memory_mb = int(memory)
    except ValueError:
        memory_mb = 0  # "[N/A]" where GPU and CPU share their memory
    return GpuDevice(int(index), uuid.strip(), name.strip(), memory_mb)


def visible_gpus(devices: Sequence[GpuDevice]) -> tuple[GpuDevice, ...]:
    """Return those that this process may use: CUDA_VISIBLE_DEVICES narrows them.

    As CUDA reads it: indexes or beginnings of a uuid, and nothing counts from the first wrong
    one on, which is how "-1" means none.
    """
    listed = os.environ.get("CUDA_VISIBLE_DEVICES")
    if listed is None:
        return tuple(devices)
    chosen: list[GpuDevice] = []
    for word in (word.strip() for word in listed.split(",")):
        found = [each for each in devices if _is_meant(each, word)]
        if len(found) != 1 or found[0] in chosen:
            break
        chosen += found
    return tuple(chosen)


def _is_meant(device: GpuDevice, word: str) -> bool:
    if word.isdecimal():
        return device.index == int(word)
    return word.startswith("GPU-") and device.uuid.startswith(word)
