"""The other ranks of a run, as rank 0 starts them, watches them and ends them.

They die with rank 0, kill -9 of it included. One that ends before its time ends the run, with its
cause: mostly since a call of torch.distributed fails at once, otherwise after a grace.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from cleanrl_worker.channel import EVENT_FD_VARIABLE
from cleanrl_worker.channel_reader import ChannelReader
from cleanrl_worker.failure import rejection
from cleanrl_worker.preparation import Prepared
from cleanrl_worker.ranks.group import Alone, Group, join_group, leave_group
from cleanrl_worker.ranks.main import PEER_LOST
from cleanrl_worker.ranks.placing import pick_backend
from mosaic.contracts.errors import MosaicError, ProcessFailed
from mosaic.workers.processes import PARENT_PID_VARIABLE, describe_exit

MEETING_PLACE = "rendezvous"
_TICK_S = 0.1
_EXPLAIN_S = 5.0  # from a call that failed to the end of the process that made it fail
_STUCK_S = 10.0  # after another rank's end, until rank 0 is taken for stuck in a call
_END_S = 20.0  # for closing environments


class RankProcess:
    """One other rank: a process, and what it says of itself."""

    def __init__(self, rank: int, meeting_place: Path, arguments: Sequence[str]) -> None:
        self.rank = rank
        reading, writing = os.pipe()
        self._reader = ChannelReader(reading)
        self._rejected: dict[str, Any] | None = None
        module = "cleanrl_worker.ranks.main"
        # -P: the working directory is the run directory, whose files must not shadow modules.
        command = [sys.executable, "-P", "-m", module, str(rank), str(meeting_place), *arguments]
        variables = {PARENT_PID_VARIABLE: str(os.getpid()), EVENT_FD_VARIABLE: str(writing)}
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            pass_fds=(writing,),
            env={**os.environ, **variables},
        )
        os.close(writing)

    def is_ready(self, timeout_s: float) -> bool:
        """Say whether it has prepared itself; one that has ended instead is an error."""
        messages = self._reader.read(timeout_s)
        if self._reader.is_at_end:
            self.process.wait()
            raise self.failure()
        self._take(messages)
        return any(message["kind"] == "prepared" for message in messages)

    def _take(self, messages: list[dict[str, Any]]) -> None:
        for message in messages:
            if message["kind"] == "rejected":
                self._rejected = message

    def failure(self) -> MosaicError:
        """Return why it ended."""
        self._take(self._reader.read_rest())
        code = self.process.returncode
        if self._rejected is not None:
            refused = rejection(self._rejected)
            return type(refused)(f"Rank {self.rank}: {refused.message}")
        was = "was " if code < 0 else ""
        cause = " Out of memory is the usual cause." if code == -9 else ""
        return ProcessFailed(f"Rank {self.rank} {was}{describe_exit(code)}.{cause}")

    def end(self, patience_s: float) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(patience_s)
        self.process.kill()
        self.process.wait()

    def close(self) -> None:
        self._reader.close()


class OtherRanks:
    """All other ranks. `give_up` ends this process with an error, from whichever thread."""

    def __init__(
        self,
        size: int,
        meeting_place: Path,
        arguments: Sequence[str],
        give_up: Callable[[MosaicError], None],
    ) -> None:
        self._give_up = give_up
        self._is_over = threading.Event()
        self._ended: list[RankProcess] = []
        self._has_ended = threading.Event()
        self._ranks = [RankProcess(rank, meeting_place, arguments) for rank in range(1, size)]

    def are_ready(self, is_stopping: Callable[[], bool]) -> bool:
        """Wait until all are prepared, then watch them; False where the run is to stop before."""
        waiting = list(self._ranks)
        while waiting:
            try:
                waiting = [rank for rank in waiting if not rank.is_ready(_TICK_S)]
            except MosaicError:
                if not is_stopping():  # an interrupt may have hit one that was not up yet
                    raise
            if is_stopping():
                return False
        for rank in self._ranks:
            threading.Thread(target=self._watch, args=(rank,), daemon=True).start()
        return True

    def _watch(self, rank: RankProcess) -> None:
        if rank.process.wait() == 0 or self._is_over.is_set():
            return
        self._ended.append(rank)
        self._has_ended.set()
        if not self._is_over.wait(_STUCK_S):
            self._give_up(self._cause())

    def explain(self, error: RuntimeError) -> Exception:
        """Return the end of another rank as the cause of an error, or the error itself."""
        return self._cause() if self._has_ended.wait(_EXPLAIN_S) else error

    def _cause(self) -> MosaicError:
        """Return the first cause; a rank that only noticed that another one was gone is none."""
        deadline = time.monotonic() + _EXPLAIN_S
        while time.monotonic() < deadline:
            for rank in self._ended:
                if rank.process.returncode != PEER_LOST:
                    return rank.failure()
            time.sleep(_TICK_S)
        return self._ended[0].failure()

    def finish(self) -> None:
        """Wait until each has come to its own end; one that fails there fails the run."""
        for rank in self._ranks:
            rank.end(_END_S)
        failed = [rank for rank in self._ranks if rank.process.returncode]
        if failed:
            raise failed[0].failure()

    def close(self) -> None:
        """End those that are left, at once."""
        self._is_over.set()
        for rank in self._ranks:
            rank.end(0.0)
            rank.close()


@contextlib.contextmanager
def with_others(
    prepared: Prepared,
    home: Path,
    arguments: Sequence[str],
    give_up: Callable[[MosaicError], None],
    is_stopping: Callable[[], bool],
) -> Iterator[Group]:
    """Be rank 0 of several processes; the others are started here and are gone afterwards.

    A run that is to stop before they are ready goes on alone: to its first step, which is its last.
    """
    config, device = prepared.config, prepared.device
    assert isinstance(device, torch.device), "there is no group in JAX"
    meeting_place = home / MEETING_PLACE
    others = OtherRanks(prepared.processes, meeting_place, arguments, give_up)
    try:
        if not others.are_ready(is_stopping):
            yield Alone(prepared.processes)
            return
        yield join_group(
            meeting_place,
            rank=0,
            size=prepared.processes,
            backend=pick_backend(config.backend, device, config.world_size, config.device_ids),
            device=device,
            explain=others.explain,
        )
        if not is_stopping():
            leave_group()
            others.finish()
    finally:
        others.close()
        meeting_place.unlink(missing_ok=True)
