"""`mosaic gui`: start the GUI, or print a fresh link to the one that runs."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from collections.abc import Sequence

from mosaic.contracts.errors import EXIT_OK, ConfigError, DependencyMissing
from mosaic.contracts.gui_access import Access
from mosaic.contracts.paths import VarPaths
from mosaic.contracts.tokens import read_token

USAGE = """\
usage: mosaic gui [--link [--json]] [--host HOST] [--port PORT] [--allow-remote] [--native]
                  [--no-browser]

Start the GUI in the browser; the daemon is started where none runs.

  --link          print a fresh link to the GUI that runs, which works once, within 15 minutes
  --json          print the link as JSON
  --host HOST     address to listen on (127.0.0.1)
  --port PORT     port (8765; a free one where it is taken)
  --allow-remote  allow a --host beyond this machine
  --native        open a desktop window instead of a browser
  --no-browser    print the link, and open nothing
"""


def run(words: Sequence[str]) -> int:
    if "-h" in words or "--help" in words:
        print(USAGE, end="")
        return EXIT_OK
    if "--link" in words:
        if rest := [word for word in words if word not in ("--link", "--json")]:
            raise ConfigError(f"gui --link does not take {rest[0]!r}.")
        return _print_link(as_json="--json" in words)
    if importlib.util.find_spec("nicegui") is None:
        raise DependencyMissing(
            "The GUI needs a package that is not installed: nicegui.",
            hint="Install 'mosaic-rl[gui,trainer]'.",
        )
    # In place of this process, so that Ctrl-C and signals reach the GUI itself.
    os.execv(sys.executable, [sys.executable, "-m", "gym_gui", *words])


def _print_link(*, as_json: bool) -> int:
    paths = VarPaths.default()
    secret = read_token(paths.gui_token)
    try:
        info = json.loads(paths.gui_info.read_text(encoding="utf-8"))
        address = f"http://{info['host']}:{info['port']}"
        os.kill(int(info["pid"]), 0)
    except (OSError, ValueError, KeyError, TypeError):
        secret = None
    if secret is None:
        raise ConfigError("No GUI runs here.", hint="'mosaic gui' starts one.")
    link = f"{address}/login?token={Access(secret).make_link_token()}"
    print(json.dumps({"link": link}) if as_json else link)
    return EXIT_OK
