"""The command line of a worker of one process: the flags and exit codes of the contract."""

from __future__ import annotations

import argparse
import json
import logging
import re
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from mosaic.contracts.dotenv import load_dotenv
from mosaic.contracts.errors import (
    EXIT_FAILED,
    EXIT_OK,
    ConfigError,
    MosaicError,
    StorageError,
)
from mosaic.contracts.events import STDERR_TAIL_LINES
from mosaic.contracts.files import read_json
from mosaic.contracts.paths import VarPaths
from mosaic.contracts.schema import load_schema
from mosaic.contracts.secrets import mask_secrets
from mosaic.contracts.settings import load_settings
from mosaic.workers.emitter import EventEmitter
from mosaic.workers.run_directory import RunDirectory
from mosaic.workers.solo.program import Program
from mosaic.workers.solo.recorder import RunRecorder
from mosaic.workers.solo.settings import RunSettings, find_run_id, parse_settings
from mosaic.workers.stop_requests import StopRequests

_LOG = logging.getLogger(__name__)
_FIELDS = ("algo", "env_id", "total_timesteps", "seed", "worker_id", "run_id")


def main(program: Program, argv: Sequence[str] | None = None) -> int:
    """Run the worker, and return its exit code."""
    argv = sys.argv[1:] if argv is None else argv
    try:
        flags = _parse(program, argv)
    except ConfigError as error:
        session = _Session(program, EventEmitter.claim_stdout(), is_dry_run="--dry-run" in argv)
        return session.refuse(error)
    if flags.describe:
        print(json.dumps(program.describe(), indent=1))
        return EXIT_OK
    logging.basicConfig(
        level=logging.DEBUG if flags.verbose else logging.WARNING,
        format=f"{program.name}: %(levelname)s: %(message)s",
    )
    if flags.interactive:
        return _interact(program, flags)
    session = _Session(program, EventEmitter.claim_stdout(), is_dry_run=flags.dry_run)
    return session.run(flags)


def _interact(program: Program, flags: argparse.Namespace) -> int:
    """Step an environment over stdin and stdout; nothing is recorded."""
    from mosaic.workers.solo.line import serve_pipes  # a run needs none of it

    try:
        if program.sit_down is None:
            raise ConfigError(f"{program.name} has no --interactive.")
        load_dotenv()
        schema = load_schema(program.capabilities().schema)
        document = {
            "run_id": "interactive",
            "algo": next(iter(schema.algorithms)),
            "env_id": "",
            "total_timesteps": 1,
            "extras": {"mode": "interactive"},
        }
        operator = load_settings(VarPaths.default().settings)
        table = program.sit_down(parse_settings(document, _overrides(flags), schema, operator))
    except MosaicError as error:
        print(f"{program.name}: {error.one_line()}", file=sys.stderr)
        return error.exit_code
    try:
        serve_pipes(table)
    finally:
        table.close()
    return EXIT_OK


class _Session:
    """One start of the worker, and the border at which its errors become exit codes."""

    def __init__(self, program: Program, emitter: EventEmitter, *, is_dry_run: bool) -> None:
        self._program = program
        self._emitter = emitter
        self._is_dry_run = is_dry_run
        self._run_id: str | None = None
        self._secrets: dict[str, str] = {}

    def run(self, flags: argparse.Namespace) -> int:
        try:
            return self._run(flags)
        except MosaicError as error:
            return self.refuse(error)
        except Exception as error:  # noqa: BLE001 - the process border
            _LOG.exception("the run failed")
            lines = traceback.format_exc().splitlines()[-STDERR_TAIL_LINES:]
            self._emit_failure(str(error), type(error).__name__, EXIT_FAILED, lines)
            return EXIT_FAILED
        finally:
            self._emitter.close()

    def refuse(self, error: MosaicError) -> int:
        self._emit_failure(error.one_line(), type(error).__name__, error.exit_code, ())
        self._emitter.close()
        print(f"{self._program.name}: {error.one_line()}", file=sys.stderr)
        return error.exit_code

    def _emit_failure(self, error: str, kind: str, code: int, lines: Sequence[str]) -> None:
        if self._is_dry_run:
            return
        payload = {
            "error": mask_secrets(error, self._secrets),
            "error_type": kind,
            "return_code": code,
            "stderr_log": None,
            "stderr_tail": [mask_secrets(line, self._secrets) for line in lines],
        }
        self._emitter.emit("run_failed", self._run_id, payload)

    def _run(self, flags: argparse.Namespace) -> int:
        load_dotenv()
        if flags.config is None:
            raise ConfigError("--config is missing: name the JSON file of the run.")
        if flags.emit_summary and not flags.dry_run:
            raise ConfigError("--emit-summary needs --dry-run: a run prints events on stdout.")
        overrides = _overrides(flags)
        document = read_json(flags.config, what="--config")
        self._run_id = find_run_id(document, overrides)
        var_paths = VarPaths.default()
        schema = load_schema(self._program.capabilities().schema)
        settings = parse_settings(document, overrides, schema, load_settings(var_paths.settings))
        self._secrets = dict(settings.secrets)
        prepared = self._program.prepare(settings)
        if flags.dry_run:
            if flags.emit_summary:
                summary = self._summary(settings, prepared.summary())
                self._emitter.write_line(json.dumps(summary))
            return EXIT_OK
        if flags.grpc:
            self._register(settings, var_paths, flags.grpc_target)
        return self._record(settings, prepared, var_paths)

    def _summary(self, settings: RunSettings, found: dict[str, Any]) -> dict[str, Any]:
        usual = {
            "config": settings.to_json(),
            "algo": settings.algo,
            "module": self._program.capabilities().module,
            "callable": "run",
            "args": [],
            "env": {},
            "agent": {},
            "device": "cpu",
            "resources": {"memory_mb": self._program.capabilities().estimated_memory_mb},
            "warnings": [],
        }
        return {**usual, **found}

    def _register(self, settings: RunSettings, paths: VarPaths, target: str | None) -> None:
        from mosaic.workers.solo.registration import register_worker  # most need none of it

        register_worker(self._program.capabilities(), settings, paths, target)

    def _record(self, settings: RunSettings, prepared: Any, var_paths: VarPaths) -> int:
        paths = var_paths.run(settings.run_id, settings.mode)
        capabilities = self._program.capabilities()
        with StopRequests() as requests:
            RunDirectory.claim(paths)
            log = logging.FileHandler(paths.stderr_log, encoding="utf-8")
            logging.getLogger().addHandler(log)
            recorder = RunRecorder(settings, capabilities, paths, self._emitter, requests)
            try:
                recorder.started()
                prepared.run(recorder)
            except OSError as error:
                recorder.failed()
                raise StorageError(f"The run cannot go on: {error}.") from error
            except BaseException:
                recorder.failed()
                raise
            finally:
                logging.getLogger().removeHandler(log)
                log.close()
            if recorder.should_stop:
                recorder.cancelled()
                return requests.exit_code
            recorder.completed()
            return EXIT_OK


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ConfigError(message[:1].upper() + message[1:] + ".", hint="See --help.")


def _parse(program: Program, argv: Sequence[str]) -> argparse.Namespace:
    parser = _Parser(
        prog=program.name, allow_abbrev=False, description=program.capabilities().description
    )
    add = parser.add_argument
    add("--config", type=Path, metavar="PATH", help="the run's config, JSON, flat or nested")
    add("--algo", help="which of the worker's agents")
    add("--env-id", help="environment id")
    add("--total-timesteps", type=_whole_number, metavar="N", help="environment steps of the run")
    add("--seed", type=_whole_number, metavar="N", help="seed of everything random")
    add("--worker-id", metavar="ID", help="name of this worker")
    add("--run-id", metavar="ID", help="id of the run, and name of its directory")
    add("--policy-path", metavar="PATH", help="policy to evaluate")
    add("--extras", type=_json_object, metavar="JSON", help="extras; they win key by key")
    add("--grpc", action="store_true", help="register with the trainer daemon")
    add("--grpc-target", type=_address, metavar="HOST:PORT", help="its address, if not the usual")
    add("--dry-run", action="store_true", help="do everything but the run")
    add("--emit-summary", action="store_true", help="with --dry-run: print what was found, as JSON")
    add("--interactive", action="store_true", help="step an environment over stdin and stdout")
    add("--describe", action="store_true", help="print the worker's schema, and nothing else")
    add("-v", "--verbose", action="store_true", help="log more to stderr")
    return parser.parse_args(list(argv))


def _whole_number(text: str) -> int:
    try:
        number = float(text)
    except ValueError:
        number = 0.5
    if not number.is_integer():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
    return int(number) if "e" in text.lower() else int(text)


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
    extras = dict(flags.extras or {})
    if flags.policy_path is not None:
        extras["policy_path"] = flags.policy_path
    return {**{name: getattr(flags, name) for name in _FIELDS}, "extras": extras or None}
