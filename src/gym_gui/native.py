"""The GUI in a desktop window of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from mosaic.contracts.errors import DependencyMissing

# In a process of its own: a window wants the main thread, which serves.
_WINDOW = """
import sys, webview
webview.create_window("MOSAIC", sys.argv[1], width=1400, height=900)
webview.start()
"""


def open_window(link: str) -> subprocess.Popen[bytes]:
    """Open the link in a window, and return its process."""
    import importlib.util

    if importlib.util.find_spec("webview") is None:
        raise DependencyMissing(
            "--native needs a package that is not installed: pywebview.",
            hint="Install 'mosaic-rl[native]', or leave --native out.",
        )
    return subprocess.Popen([sys.executable, "-c", _WINDOW, link])


@contextmanager
def window(link: str) -> Iterator[None]:
    """Show the window while something is served; who closes it ends the GUI, and no run."""
    process = open_window(link)

    def follow() -> None:
        process.wait()
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=follow, name="window", daemon=True).start()
    try:
        yield
    finally:
        process.terminate()
