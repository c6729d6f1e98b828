"""`python -m gym_gui`: start the GUI, and the daemon where none runs."""

from __future__ import annotations

import argparse
import contextlib
import ipaddress
import os
import socket
import sys
import webbrowser
from collections.abc import Iterator, Sequence
from typing import NoReturn

from mosaic.contracts.dotenv import load_dotenv
from mosaic.contracts.errors import EXIT_OK, ConfigError, DependencyMissing, MosaicError
from mosaic.contracts.files import make_directory, write_json_whole
from mosaic.contracts.gui_access import DEFAULT_PORT, Access
from mosaic.contracts.paths import VarPaths
from mosaic.contracts.tokens import make_token

DEFAULT_HOST = "127.0.0.1"
# For clients of Socket.IO and for NiceGUI's own window, which are never made here: 18 MB.
_NOT_NEEDED = ("aiohttp", "requests", "websocket", "webview")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ConfigError(f"{message}.", hint="See --help.")


def main(argv: Sequence[str] | None = None) -> int:
    try:
        load_dotenv()
        given = _parse(sys.argv[1:] if argv is None else argv)
        return _run(given)
    except MosaicError as error:
        print(f"gym_gui: {error.one_line()}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return EXIT_OK


def _parse(argv: Sequence[str]) -> argparse.Namespace:
    parser = _Parser(prog="python -m gym_gui", description=__doc__, allow_abbrev=False)
    add = parser.add_argument
    add("--host", default=DEFAULT_HOST, help="address to listen on (127.0.0.1)")
    add("--port", type=int, help=f"port ({DEFAULT_PORT}; a free one where it is taken)")
    add("--allow-remote", action="store_true", help="allow a --host beyond this machine")
    add("--native", action="store_true", help="open a desktop window instead of a browser")
    add("--no-browser", action="store_true", help="print the link, and open nothing")
    given = parser.parse_args(list(argv))
    if given.port is not None and not 0 <= given.port <= 65_535:
        raise ConfigError(f"--port={given.port} is not allowed: give 0 to 65535.")
    if not _is_loopback(given.host) and not given.allow_remote:
        raise ConfigError(
            f"--host={given.host!r} would let other machines in.",
            hint="Add --allow-remote if they may, or forward the port with ssh -L.",
        )
    return given


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _run(given: argparse.Namespace) -> int:
    paths = VarPaths.default()
    make_directory(paths.trainer, what="The data directory")
    access = Access(make_token(paths.gui_token))
    listening = _listen(given.host, given.port)
    port = listening.getsockname()[1]
    link = f"http://{_shown(given.host)}:{port}/login?token={access.make_link_token()}"
    write_json_whole(paths.gui_info, {"pid": os.getpid(), "host": _shown(given.host), "port": port})
    print(link, flush=True)
    has_display = os.environ.get("DISPLAY") or sys.platform != "linux"
    if not given.native and not given.no_browser and has_display:
        webbrowser.open(link)
    try:
        with _window(link) if given.native else contextlib.nullcontext():
            _serve(listening, paths, access, _hosts(given.host, port), port)
    finally:
        paths.gui_info.unlink(missing_ok=True)
    return EXIT_OK


def _window(link: str) -> contextlib.AbstractContextManager[None]:
    from gym_gui.native import window

    return window(link)


def _serve(
    listening: socket.socket, paths: VarPaths, access: Access, hosts: list[str], port: int
) -> None:
    # Read once, when NiceGUI is imported; without it the files lie wherever somebody started us.
    # NiceGUI makes the folder itself, but not the one that it lies in.
    make_directory(paths.gui_browsers, what="The data directory")
    os.environ["NICEGUI_STORAGE_PATH"] = str(paths.gui_browsers)
    try:
        with _left_out(*_NOT_NEEDED):
            import uvicorn

            from gym_gui.app import build
            from gym_gui.live import Live
    except ImportError as error:
        raise DependencyMissing(
            f"The GUI needs a package that is not installed: {error.name}.",
            hint="Install 'mosaic-rl[gui,trainer]'.",
        ) from None
    guarded = build(Live(paths), access, hosts=hosts, port=port)
    config = uvicorn.Config(
        guarded, log_level="warning", access_log=False, ws_max_size=16 << 20, lifespan="on"
    )
    uvicorn.Server(config).run(sockets=[listening])


@contextlib.contextmanager
def _left_out(*names: str) -> Iterator[None]:
    """Let packages that others import where they find them look as if they were not installed."""
    absent = [name for name in names if name not in sys.modules]
    for name in absent:
        sys.modules[name] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        for name in absent:
            del sys.modules[name]


def _listen(host: str, port: int | None) -> socket.socket:
    """Open the port; the usual one may be taken, one that was asked for must not be."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for wanted in [DEFAULT_PORT, 0] if port is None else [port]:
        listening = socket.socket(family, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, wanted))
            # From now on a browser waits, rather than fail, until the pages are imported.
            listening.listen(128)
            return listening
        except OSError as error:
            listening.close()
            reason = error.strerror
    raise ConfigError(
        f"--host={host!r} --port={port} cannot be opened: {reason}.", hint="Give another --port."
    )


def _shown(host: str) -> str:
    if host in ("0.0.0.0", "::"):
        return socket.gethostname()
    return f"[{host}]" if ":" in host else host


def _hosts(host: str, port: int) -> list[str]:
    """Return the names under which a browser may address this GUI."""
    names = {"127.0.0.1", "localhost", "[::1]", _shown(host)}
    if not _is_loopback(host):
        names |= {socket.gethostname(), socket.getfqdn()}
        with contextlib.suppress(OSError):
            found = socket.getaddrinfo(socket.gethostname(), None)
            names |= {_shown(str(entry[4][0])) for entry in found}
    return [f"{name}:{port}" for name in sorted(names)]


if __name__ == "__main__":
    sys.exit(main())
