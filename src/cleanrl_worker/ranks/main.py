"""A rank other than 0: `python -m cleanrl_worker.ranks.main RANK MEETING_PLACE NAME [flags]`.

Rank 0 starts it with its own flags. It steps its share of the environments and learns with the
others; it logs nothing and writes nothing.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from cleanrl_worker.channel import Channel
from mosaic.contracts.errors import EXIT_FAILED, EXIT_OK, MosaicError, ProcessFailed
from mosaic.workers.processes import die_with_parent

PEER_LOST = 75  # exit code of a rank that found another one gone: no cause, but a consequence


def main(arguments: Sequence[str]) -> int:
    number, meeting_place, name, *flags = arguments
    channel = Channel.from_environment()
    die_with_parent()
    _hand_on_signals()
    from cleanrl_worker.ranks.training import PeerLost, train_rank

    try:
        train_rank(
            int(number),
            Path(meeting_place),
            name,
            flags,
            lambda prepared: channel.send("prepared", device=str(prepared.device)),
        )
    except PeerLost as error:
        channel.send("rejected", code=ProcessFailed.code, message=_first_line(error))
        return PEER_LOST
    except MosaicError as error:
        channel.send("rejected", code=error.code, message=error.one_line())
        return error.exit_code
    except Exception as error:  # noqa: BLE001 - a process border: rank 0 names the cause
        traceback.print_exc()
        said = f"{type(error).__name__}: {_first_line(error)}"
        channel.send("rejected", code=ProcessFailed.code, message=said)
        return EXIT_FAILED
    return EXIT_OK


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [""])[0]


def _hand_on_signals() -> None:
    """Leave it to rank 0 to stop the run: it stops all ranks where none waits for another."""
    parent = os.getppid()

    def hand_on(signum: int, frame: FrameType | None) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(parent, signal.SIGTERM)

    signal.signal(signal.SIGTERM, hand_on)
    signal.signal(signal.SIGINT, hand_on)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
