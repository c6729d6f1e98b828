"""`cleanrl-worker`: run one config, with lifecycle events on stdout."""

from __future__ import annotations

import argparse
import json
import logging
import os
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from cleanrl_worker.child_environment import renderers
from cleanrl_worker.config import CleanRLWorkerConfig, find_mode, find_run_id, parse_config
from cleanrl_worker.dry_run import dry_run
from cleanrl_worker.failure import failed_payload
from cleanrl_worker.runtime import CleanRLWorkerRuntime
from mosaic.contracts.dotenv import load_dotenv
from mosaic.contracts.errors import (
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    EXIT_OK,
    ConfigError,
    MosaicError,
)
from mosaic.contracts.files import read_json
from mosaic.contracts.paths import VarPaths
from mosaic.contracts.settings import load_settings
from mosaic.workers.emitter import EventEmitter

_LOG = logging.getLogger(__name__)

INTERACTIVE = "interactive"
_FIELDS = ("algo", "env_id", "total_timesteps", "seed", "worker_id", "run_id")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the worker, and return its exit code."""
    argv = sys.argv[1:] if argv is None else argv
    try:
        flags = _parse(argv)
    except ConfigError as error:
        return _Session(EventEmitter.claim_stdout(), is_dry_run="--dry-run" in argv).refuse(error)
    if flags.describe:
        from cleanrl_worker.describe import main as describe

        return describe()
    logging.basicConfig(
        level=logging.DEBUG if flags.verbose else logging.WARNING,
        format="cleanrl-worker: %(levelname)s: %(message)s",
    )
    return _Session(EventEmitter.claim_stdout(), is_dry_run=flags.dry_run).run(flags)


class _Session:
    """One start of the worker, and the border at which its errors become exit codes."""

    def __init__(self, emitter: EventEmitter, *, is_dry_run: bool) -> None:
        self._emitter = emitter
        self._is_dry_run = is_dry_run
        self._is_interactive = False
        self._run_id: str | None = None

    def run(self, flags: argparse.Namespace) -> int:
        try:
            return self._run(flags)
        except MosaicError as error:
            return self.refuse(error)
        except KeyboardInterrupt:
            return EXIT_INTERRUPTED
        except Exception as error:  # noqa: BLE001 - the process border
            _LOG.exception("this is a bug of the worker")
            self._emit_failure(str(error), type(error).__name__, EXIT_FAILED)
            return EXIT_FAILED
        finally:
            self._emitter.close()

    def refuse(self, error: MosaicError) -> int:
        self._emit_failure(error.one_line(), type(error).__name__, error.exit_code)
        self._emitter.close()
        print(f"cleanrl-worker: {error.one_line()}", file=sys.stderr)
        return error.exit_code

    def _emit_failure(self, error: str, error_type: str, code: int) -> None:
        if self._is_interactive:
            self._emitter.write_line(json.dumps({"type": "error", "message": error}))
        elif not self._is_dry_run:
            payload = failed_payload(error, error_type, code)
            self._emitter.emit("run_failed", self._run_id, payload)

    def _run(self, flags: argparse.Namespace) -> int:
        load_dotenv()
        if flags.config is None and not flags.interactive:
            raise ConfigError("--config is missing: name the JSON file of the run.")
        if flags.emit_summary and not flags.dry_run:
            raise ConfigError("--emit-summary needs --dry-run: a run prints events on stdout.")
        overrides = _overrides(flags)
        document = None if flags.config is None else read_json(flags.config, what="--config")
        self._is_interactive = flags.interactive or find_mode(document, overrides) == INTERACTIVE
        if self._is_interactive:
            return self._play(document, overrides)
        self._run_id = find_run_id(document, overrides)
        var_paths = VarPaths.default()
        config = parse_config(document, overrides, settings=load_settings(var_paths.settings))
        if flags.dry_run:
            return dry_run(config, self._emitter, emit_summary=flags.emit_summary)
        announce = _registration(flags, var_paths) if flags.grpc else None
        return CleanRLWorkerRuntime(config, var_paths, self._emitter, announce=announce).run()

    def _play(self, document: Any, overrides: dict[str, Any]) -> int:
        """Let whoever sits at stdin step an environment; the one mode without events."""
        from cleanrl_worker.interactive_request import read_request

        settings = load_settings(VarPaths.default().settings)
        request = read_request(document, overrides, settings)
        for name, value in renderers(os.environ).items():
            os.environ.setdefault(name, value)
        # It needs Gymnasium, and with a policy torch: a request that is wrong does not.
        from cleanrl_worker.interactive import open_session, play, summarise

        session = open_session(request)
        if self._is_dry_run:
            self._emitter.write_line(json.dumps(summarise(request, session)))
        else:
            play(session, self._emitter)
        return EXIT_OK


def _registration(
    flags: argparse.Namespace, var_paths: VarPaths
) -> Callable[[CleanRLWorkerConfig], None]:
    from cleanrl_worker.registration import register_worker  # most workers need none of it

    return lambda config: register_worker(config, var_paths, flags.grpc_target)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ConfigError(message[:1].upper() + message[1:] + ".", hint="See --help.")


def _parse(argv: Sequence[str]) -> argparse.Namespace:
    parser = _Parser(prog="cleanrl-worker", allow_abbrev=False, description=__doc__)
    add = parser.add_argument
    add("--config", type=Path, metavar="PATH", help="the run's config, JSON, flat or nested")
    add("--algo", help="registry name of the algorithm")
    add("--env-id", help="environment id")
    add("--total-timesteps", type=_whole_number, metavar="N", help="environment steps of the run")
    add("--seed", type=_whole_number, metavar="N", help="seed of everything random")
    add("--worker-id", metavar="ID", help="name of this worker")
    add("--run-id", metavar="ID", help="id of the run, and name of its directory")
    add("--policy-path", metavar="PATH", help="policy to evaluate")
    add("--extras", type=_json_object, metavar="JSON", help="extras; they win key by key")
    add("--grpc", action="store_true", help="register with the trainer daemon")
    add("--grpc-target", type=_address, metavar="HOST:PORT", help="its address, if not the usual")
    add("--dry-run", action="store_true", help="do everything but train")
    add("--emit-summary", action="store_true", help="with --dry-run: print what was found, as JSON")
    add("--interactive", action="store_true", help="step an environment over stdin and stdout")
    add("--describe", action="store_true", help="print the worker's schema, and nothing else")
    add("-v", "--verbose", action="store_true", help="log more to stderr")
    return parser.parse_args(list(argv))


def _whole_number(text: str) -> int:
    try:
        number = float(text)
        return int(text) if not number.is_integer() or "e" not in text.lower() else int(number)
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None


def _address(text: str) -> str:
    if not re.fullmatch(r"[^\s/]+:\d{1,5}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not HOST:PORT, such as 127.0.0.1:50055")
    return text


def _json_object(text: str) -> dict[str, Any]:
    """Read the JSON of --extras; an error does not show it, since it may hold a secret."""
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise argparse.ArgumentTypeError(f"not JSON: {error.msg} at column {error.colno}") from None
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError("give a JSON object")
    return value


def _overrides(flags: argparse.Namespace) -> dict[str, Any]:
    """Return what the command line puts over the config."""
    overrides = {name: getattr(flags, name) for name in _FIELDS}
    extras = dict(flags.extras or {})
    if flags.policy_path is not None:
        extras["policy_path"] = flags.policy_path
    return {**overrides, "extras": extras or None}


if __name__ == "__main__":
    sys.exit(main())
