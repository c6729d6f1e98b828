"""On which device each rank of a run computes, and how it talks to the others."""

from __future__ import annotations

import torch

from mosaic.contracts.errors import ConfigError

AUTO, GLOO, NCCL = "auto", "gloo", "nccl"


def place_rank(
    device: torch.device, rank: int, size: int, device_ids: tuple[int, ...], backend: str
) -> tuple[torch.device, tuple[str, ...]]:
    """Return the rank's own device, and what the user should know of it."""
    if device.type == "cpu":
        if device_ids:
            raise ConfigError(
                f"device_ids={list(device_ids)} names GPUs, and the run is on the CPU.",
                hint="Set cuda where there are GPUs, or leave device_ids out.",
            )
        if backend == NCCL:
            raise ConfigError(
                "backend='nccl' needs GPUs, and the run is on the CPU.",
                hint="Use backend='gloo', or set cuda where there are GPUs.",
            )
        return device, ()
    ids, notes = _choose(size, device_ids, torch.cuda.device_count())
    if backend == NCCL and len(set(ids)) < size:
        raise ConfigError(
            f"backend='nccl' needs a GPU for each of world_size={size} processes, and they have "
            f"{len(set(ids))}.",
            hint="Use backend='gloo', or a smaller world_size.",
        )
    torch.cuda.set_device(ids[rank])
    return torch.device("cuda", ids[rank]), notes


def pick_backend(backend: str, device: torch.device, size: int, device_ids: tuple[int, ...]) -> str:
    """Return what torch.distributed is started with: nccl where each rank has a GPU of its own."""
    if backend != AUTO:
        return backend
    if device.type == "cpu":
        return GLOO
    ids, _ = _choose(size, device_ids, torch.cuda.device_count())
    return NCCL if len(set(ids)) == size else GLOO


def _choose(
    size: int, device_ids: tuple[int, ...], gpus: int
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    unknown = [number for number in device_ids if not 0 <= number < gpus]
    if unknown:
        raise ConfigError(
            f"device_ids={list(device_ids)}: there is no GPU {unknown[0]}, only 0 to {gpus - 1}."
        )
    if device_ids:
        return device_ids, ()
    if gpus >= size:
        return tuple(range(size)), ()
    shared = tuple(rank % gpus for rank in range(size))
    return shared, (f"{size} processes share {gpus} GPU{'s' if gpus > 1 else ''}.",)
