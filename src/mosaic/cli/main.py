"""The `mosaic` command: find the subcommand, run it, and turn what it raises into an exit code."""

from __future__ import annotations

import errno
import importlib
import io
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from datetime import UTC, datetime

from mosaic import __version__
from mosaic.contracts.dotenv import load_dotenv
from mosaic.contracts.errors import (
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    EXIT_OK,
    ConfigError,
    MosaicError,
    suggest,
)
from mosaic.contracts.paths import VarPaths

# Name: what it does. Each lies in the module of its name, imported only when it is used.
COMMANDS = {
    "train": "train an algorithm on an environment",
    "ps": "list the runs",
    "watch": "show the runs as they go on",
    "show": "show everything about one run",
    "logs": "print a run's log",
    "cancel": "end runs",
    "pause": "stop the processes of runs where they are",
    "unpause": "continue runs that were paused",
    "resume": "continue a run from a checkpoint, as a new run",
    "eval": "evaluate a policy, or that of a run",
    "versus": "let actors play the same episodes, and compare",
    "play": "play an environment, or watch a policy play it",
    "script": "run a script whose phases are commands of mosaic",
    "rm": "move runs to the bin",
    "restore": "bring runs back from the bin",
    "sweep": "search for the hyperparameters that do best",
    "figure": "draw runs for a paper, seeds brought together",
    "archive": "hide ended runs from lists, and keep all of them",
    "export": "write a run to one file",
    "import": "take in a run that was exported",
    "daemon": "start, stop or look at the trainer daemon",
    "algos": "list the algorithms, or the parameters of one",
    "envs": "list the environments, and what each needs",
    "workers": "list the workers that are installed",
    "bundle": "make and list environments of their own for runs",
    "config": "read a value from a config file",
    "gui": "open the GUI in the browser",
    "doctor": "say what is installed, what is missing, and what fixes it",
    "frames": "write the newest live frame of a run to a file",
    "view": "watch a run in the terminal",
}

# Of a name that cannot be a module's.
MODULES = {"import": "import_run"}

USAGE = """\
usage: mosaic COMMAND [...]

Configure, launch and check reinforcement-learning runs.

commands:
{commands}

Every command explains itself with --help and answers in JSON with --json.
A RUN may be any unambiguous prefix of its id. A first run:

  mosaic train ppo --env-id CartPole-v1 --total-timesteps 100000 --tuned
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the only place where an exception becomes an exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    _write_any_character()
    try:
        load_dotenv()
        return run(words)
    except MosaicError as error:
        print(f"mosaic: {error.one_line()}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the process border; the traceback is kept
        if isinstance(error, OSError) and error.errno in (errno.EPIPE, errno.EIO):
            return _leave_quietly()
        print(f"mosaic: internal error: {_keep_traceback(error)}", file=sys.stderr)
        return EXIT_FAILED


def run(words: list[str]) -> int:
    if not words or words[0] in ("-h", "--help", "help"):
        print(usage(), end="")
        return EXIT_OK
    if words[0] in ("-V", "--version"):
        print(f"mosaic {__version__}")
        return EXIT_OK
    name, *rest = words
    if name not in COMMANDS:
        raise ConfigError(
            f"{name!r} is no command.{suggest(name, COMMANDS)}", hint="'mosaic --help' lists them."
        )
    command = importlib.import_module(f"mosaic.cli.{MODULES.get(name, name)}")
    return int(command.run(rest))


def usage() -> str:
    width = max(map(len, COMMANDS))
    lines = [f"  {name:<{width}}  {summary}" for name, summary in COMMANDS.items()]
    return USAGE.format(commands="\n".join(lines))


def _write_any_character() -> None:
    """Replace what the terminal's encoding lacks, rather than fail over a bar or a Greek letter."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _leave_quietly() -> int:
    """End without a word: the reader (head, less) or the terminal has gone."""
    # The interpreter must not write to it again on exit.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 128 + signal.SIGPIPE


def _keep_traceback(error: Exception) -> str:
    """Write the traceback to the log, and say in one line what happened and where it lies."""
    what = f"{type(error).__name__}: {error}"
    trace = "".join(traceback.format_exception(error))
    path = VarPaths.default().logs / "mosaic.log"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as log:
            log.write(f"{datetime.now(UTC).isoformat()} ERROR internal_error - {trace}")
    except OSError:
        return f"{what}\n{trace}"
    return f"{what} (traceback in {path})"


if __name__ == "__main__":
    sys.exit(main())
