"""`python -m gym_gui.tensorboard_server SOCKET LOGDIR PREFIX`: TensorBoard in a process of its own.

It listens on a Unix socket, which lies where no other user can reach it, and it ends when its
standard input does: with the GUI, however that ends.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Sequence
from typing import Any

RELOAD_INTERVAL_S = 5


def main(arguments: Sequence[str]) -> int:
    address, logdir, prefix = arguments
    from tensorboard import default, program
    from werkzeug.serving import make_server

    # A line for every request is of no use to anybody.
    logging.getLogger("werkzeug").setLevel(logging.ERROR)

    class Server:
        """What TensorBoard serves its application with."""

        def __init__(self, application: Any, flags: Any) -> None:
            self._server = make_server(f"unix://{address}", 0, application, threaded=True)

        def serve_forever(self) -> None:
            self._server.serve_forever()

        def get_url(self) -> str:
            return prefix

    board = program.TensorBoard(default.get_static_plugins(), server_class=Server)
    board.configure(
        (
            "tensorboard",
            f"--logdir={logdir}",
            f"--path_prefix={prefix}",
            f"--reload_interval={RELOAD_INTERVAL_S}",
            # The fast loader is another process, with a port of its own.
            "--load_fast=false",
        )
    )
    board.launch()
    sys.stdin.buffer.read()
    # Its threads have nothing to finish.
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
