"""What the processes of one run say to each other while they train.

All of them come to the same calls in the same order. Nothing is pickled: gradients travel as
tensors, random states as JSON and safetensors.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import torch
import torch.distributed as dist
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from torch import Tensor

from cleanrl_worker.cuts import Stateful
from cleanrl_worker.state_tree import join, split

if TYPE_CHECKING:
    from torch._C._distributed_c10d import Store

# A run may be paused for as long as anybody likes; that one is gone is noticed otherwise.
PATIENCE = timedelta(days=365)
_LOOPBACK = "lo0" if sys.platform == "darwin" else "lo"


class Group(Protocol):
    """The processes of a run, as one of them sees it."""

    rank: int
    size: int

    def add_up_(self, tensor: Tensor) -> None:
        """Put the sum over all ranks in place of each one's tensor."""

    def agree(self, flag: bool) -> bool:
        """Return rank 0's flag."""

    def gathered(self, part: Stateful) -> Stateful:
        """Return the part as checkpoints hold it: with every rank's own state."""


def average_(group: Group, tensor: Tensor) -> None:
    """Put the mean over all ranks in place of each one's tensor."""
    if group.size > 1:
        group.add_up_(tensor)
        tensor /= group.size


def means(group: Group, values: Mapping[str, float], device: torch.device) -> dict[str, float]:
    """Return the means of some numbers over all ranks."""
    numbers = torch.tensor(list(values.values()), dtype=torch.float64, device=device)
    average_(group, numbers)
    return dict(zip(values, numbers.tolist(), strict=True))


class Alone:
    """Rank 0 with nobody to talk to: a run of one process, or the rehearsal of one of `size`."""

    rank = 0

    def __init__(self, size: int = 1) -> None:
        self.size = size

    def add_up_(self, tensor: Tensor) -> None:
        assert self.size == 1, "a rehearsal ends before anything is computed"

    def agree(self, flag: bool) -> bool:
        return flag

    def gathered(self, part: Stateful) -> Stateful:
        return RankedState(part, 0, self.size, [])


class TorchGroup:
    """Ranks that talk through torch.distributed.

    `explain` makes of an error in a call, which mostly means that another rank is gone, the one
    that is to be raised in its place.
    """

    def __init__(
        self,
        rank: int,
        size: int,
        store: Store,
        device: torch.device,
        explain: Callable[[RuntimeError], Exception],
    ) -> None:
        self.rank = rank
        self.size = size
        self._store = store
        self._device = device
        self._explain = explain

    def add_up_(self, tensor: Tensor) -> None:
        with self._explained():
            dist.all_reduce(tensor)

    def agree(self, flag: bool) -> bool:
        said = torch.tensor([flag], dtype=torch.uint8, device=self._device)
        with self._explained():
            dist.broadcast(said, src=0)
        return bool(said.item())

    def gathered(self, part: Stateful) -> Stateful:
        others = range(1, self.size)
        return RankedState(
            part, self.rank, self.size, [Parcel(self._store, rank) for rank in others]
        )

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except RuntimeError as error:
            raise self._explain(error) from None


class Parcel:
    """States that one rank hands to rank 0, one after the other, without waiting for it."""

    def __init__(self, store: Store, rank: int) -> None:
        self._store = store
        self._name = f"state/{rank}"
        self._count = 0

    def send(self, state: Any) -> None:
        skeleton, tensors = split(state, "state")
        tensors_key, plain_key = self._next()
        # Its signature says text, and it takes bytes as they are.
        self._store.set(tensors_key, save_tensors(tensors))  # type: ignore[arg-type]
        self._store.set(plain_key, json.dumps(skeleton))

    def receive(self) -> Any:
        keys = self._next()
        tensors, plain = (self._store.get(key) for key in keys)
        for key in keys:
            self._store.delete_key(key)
        return join(json.loads(plain), load_tensors(tensors))

    def _next(self) -> tuple[str, str]:
        self._count += 1
        return f"{self._name}/{self._count}/tensors", f"{self._name}/{self._count}/plain"


class RankedState:
    """A part of which every rank has its own: rank 0's checkpoint holds them all.

    A lone process' checkpoint holds the part as it is.
    """

    def __init__(self, part: Stateful, rank: int, size: int, parcels: list[Parcel]) -> None:
        self._part = part
        self._rank = rank
        self._size = size
        self._parcels = parcels

    def state_dict(self) -> dict[str, Any]:
        """Return every rank's state; on another rank than 0 hand over that one's own."""
        own = self._part.state_dict()
        if self._rank:
            self._parcels[self._rank - 1].send(own)
            return {}
        if self._size == 1:
            return dict(own)
        return {"ranks": [own, *(parcel.receive() for parcel in self._parcels)]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        ranks = state.get("ranks", [state])
        if len(ranks) != self._size:
            raise ValueError(f"it is of world_size={len(ranks)}, not {self._size}")
        self._part.load_state_dict(ranks[self._rank])


def join_group(
    meeting_place: Path,
    *,
    rank: int,
    size: int,
    backend: str,
    device: torch.device,
    explain: Callable[[RuntimeError], Exception],
) -> TorchGroup:
    """Meet the other ranks at a file, and be one of them; all traffic stays on this machine."""
    # Where torch.distributed has them from, which a type checker does not see.
    from torch._C._distributed_c10d import FileStore

    os.environ["GLOO_SOCKET_IFNAME"] = os.environ["NCCL_SOCKET_IFNAME"] = _LOOPBACK
    store = FileStore(str(meeting_place), size)
    store.set_timeout(PATIENCE)
    dist.init_process_group(backend, store=store, rank=rank, world_size=size, timeout=PATIENCE)
    return TorchGroup(rank, size, store, device, explain)


def leave_group() -> None:
    """Part from the other ranks. Not after an error: it would wait for one that is gone."""
    dist.destroy_process_group()
