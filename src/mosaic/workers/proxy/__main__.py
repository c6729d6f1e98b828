"""`python -m mosaic.workers.proxy LAUNCH_FILE`: start a worker, and stay beside it."""

from __future__ import annotations

import fcntl
import os
import sys
from pathlib import Path

from mosaic.contracts.errors import EXIT_CONFIG, EXIT_FAILED, EXIT_OK, MosaicError
from mosaic.workers.proxy.launch import Launch, read_launch
from mosaic.workers.proxy.starting import begin


def main(argv: list[str]) -> int:
    """Run the proxy of one worker, and return its exit code."""
    if len(argv) != 1:
        print("mosaic-proxy: name one launch file, and nothing else.", file=sys.stderr)
        return EXIT_CONFIG
    try:
        launch = read_launch(Path(argv[0]))
        if not _lock(launch):
            return EXIT_OK  # the run has its proxy
        beginning = begin(launch)
    except MosaicError as error:
        print(f"mosaic-proxy: {error.one_line()}", file=sys.stderr)
        return error.exit_code
    except OSError as error:  # a full disk; a later proxy finds what has become of the worker
        print(f"mosaic-proxy: The proxy cannot begin: {error}.", file=sys.stderr)
        return EXIT_FAILED
    # From here on the worker starts up: gRPC, whose import takes longer than all of the above,
    # must not hold it up.
    from mosaic.workers.proxy.following import follow

    return follow(launch, beginning)


def _lock(launch: Launch) -> bool:
    """Claim the run for this process, for as long as it lives; children do not inherit it."""
    descriptor = os.open(launch.paths.lock, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return False
    return True


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
