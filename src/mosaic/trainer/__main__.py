"""`python -m mosaic.trainer`: the daemon, in the foreground."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from mosaic.contracts.dotenv import load_dotenv
from mosaic.contracts.errors import EXIT_CONFIG, EXIT_OK, ConfigError, MosaicError
from mosaic.contracts.paths import VarPaths

_PORTS = range(65_536)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ConfigError(f"{message}.")


def main(argv: Sequence[str] | None = None) -> int:
    try:
        parser = _Parser(prog="python -m mosaic.trainer", description=__doc__)
        parser.add_argument("--port", type=int, help="port to try first; 0: any free one")
        port = parser.parse_args(argv).port
        if port is not None and port not in _PORTS:
            raise ConfigError(f"--port={port} is not allowed: give 0 to {_PORTS[-1]}.")
        load_dotenv()
        _clean_environment()
        from mosaic.trainer.daemon import run_daemon  # heavy, and not needed to refuse a flag

        run_daemon(VarPaths.default(), port=port)
    except MosaicError as error:
        print(f"mosaic daemon: {error.one_line()}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return EXIT_CONFIG
    return EXIT_OK


def _clean_environment() -> None:
    """Make what children inherit mean the same to them."""
    entries = [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    if entries:
        os.environ["PYTHONPATH"] = os.pathsep.join(map(os.path.abspath, entries))
    # Started from inside a run, this would be one of the run's processes, and end with it.
    for name in ("MOSAIC_RUN_ID", "MOSAIC_RUN_TOKEN", "MOSAIC_GRPC_TARGET"):
        os.environ.pop(name, None)
    os.environ["MOSAIC_VAR_DIR"] = str(VarPaths.default().root)


if __name__ == "__main__":
    sys.exit(main())
