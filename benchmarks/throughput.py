"""Steps a second of our worker against CleanRL's own script, alternating in one run.

    python benchmarks/throughput.py --cleanrl-home PATH --cleanrl-python PATH
        [--algo ppo ...] [--steps N] [--rounds K] [--threads N] [--json FILE]

CleanRL is the user's: a checkout and an interpreter with its packages, neither of which is changed.
Without them only our side is measured. docs/benchmarks/throughput.md says what is measured and how.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from comparison import matmul_probe
from comparison.interpreters import Interpreter
from comparison.measuring import shared_settings, steps_per_second
from comparison.report import Measured, Result, details, document, summary, table
from comparison.rows import DEFAULT_ALGOS, ROWS, Row
from comparison.sides import CleanRL, Ours, Side, Task, record, run

from mosaic.contracts.errors import EXIT_OK, ConfigError, MosaicError, suggest


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    try:
        rows = [find_row(algo) for algo in options.algo or DEFAULT_ALGOS]
        output = find_output(options.json)
        sides = find_sides(options.cleanrl_home, options.cleanrl_python, options.threads)
        # All of it before the first run: what is missing is said at once, not after an hour.
        interpreters = [[side.check(row) for side in sides] for row in rows]
        results: list[Result] = []
        for row, found in zip(rows, interpreters, strict=True):
            steps = options.steps or row.steps
            results.append(measure(row, sides, found, steps, options.rounds, options.probes))
            keep(results, output)
    except MosaicError as error:
        print(error.one_line(), file=sys.stderr)
        return error.exit_code
    print(table(results), summary(results), details(results), sep="\n\n")
    return EXIT_OK


def keep(results: Sequence[Result], output: Path | None) -> None:
    """Show and write what has been measured: a run that is stopped leaves its whole rows."""
    print(table(results).splitlines()[-1], file=sys.stderr)
    if output:
        output.write_text(json.dumps(document(results), indent=2) + "\n", encoding="utf-8")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Compare our steps a second with CleanRL's.")
    parser.add_argument(
        "--cleanrl-home",
        default=os.environ.get("CLEANRL_HOME"),
        help="a CleanRL checkout (or CLEANRL_HOME)",
    )
    parser.add_argument(
        "--cleanrl-python",
        default=os.environ.get("CLEANRL_PYTHON"),
        help="a Python that has CleanRL's packages (or CLEANRL_PYTHON)",
    )
    parser.add_argument("--algo", nargs="+", help=f"default: {', '.join(DEFAULT_ALGOS)}")
    parser.add_argument("--steps", type=_at_least_one, help="steps of a run; default: the row's")
    parser.add_argument("--rounds", type=_at_least_one, default=5, help="runs of each side")
    parser.add_argument(
        "--threads", type=_at_least_one, default=1, help="threads of an operation, on both sides"
    )
    parser.add_argument(
        "--probes",
        type=_at_least_one,
        default=3,
        help="passes of each side that measure matrix products",
    )
    parser.add_argument("--json", metavar="FILE", help="write everything measured there too")
    return parser


def _at_least_one(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is too small: give 1 or more")
    return number


def find_row(algo: str) -> Row:
    if algo not in ROWS:
        raise ConfigError(
            f"--algo={algo!r} has no row here.{suggest(algo, ROWS)}",
            hint=f"Rows: {', '.join(ROWS)}; a new one is a line in comparison/rows.py.",
        )
    return ROWS[algo]


def find_output(name: str | None) -> Path | None:
    """Return the file that was asked for; one in a folder that does not exist is refused."""
    if name and not Path(name).parent.is_dir():
        raise ConfigError(f"--json={name!r} cannot be written: its folder does not exist.")
    return Path(name) if name else None


def find_sides(home: str | None, python: str | None, threads: int) -> list[Side]:
    """Return our side, and the user's CleanRL where it was named."""
    if home and python:
        return [Ours(threads), CleanRL(Path(home), Path(python), threads)]
    if home or python:
        given, absent = ("home", "python") if home else ("python", "home")
        raise ConfigError(f"--cleanrl-{given} is given without --cleanrl-{absent}: give both.")
    print("No --cleanrl-home and --cleanrl-python: measuring our side alone.", file=sys.stderr)
    return [Ours(threads)]


def measure(
    row: Row,
    sides: Sequence[Side],
    interpreters: Sequence[Interpreter],
    steps: int,
    rounds: int,
    probes: int,
) -> Result:
    """Run the sides in turn, round by round, then a few times each for their matrix products."""
    start = row.window_start(steps)
    speeds: list[list[float]] = [[] for _ in sides]
    settings: dict[str, str] = {}
    for number in range(1, rounds + 1):
        recordings = [record(side, row, steps, seed=number) for side in sides]
        settings = shared_settings(recordings[0].settings, recordings[-1].settings)
        for side, recording, found in zip(sides, recordings, speeds, strict=True):
            found.append(steps_per_second(recording.points, start))
            told = f"{row.algo} round {number} {side.name}: {found[-1]:,.0f} steps/s"
            print(told, file=sys.stderr)
    measured = [
        Measured(
            side.name,
            tuple(found),
            matrix_products(side, row, probes) if row.probe_steps else None,
            interpreter,
        )
        for side, found, interpreter in zip(sides, speeds, interpreters, strict=True)
    ]
    settings.pop("seed", None)  # each round has its own, the same on both sides
    return Result(row.algo, row.env_id, steps, start, settings, *measured)


def matrix_products(side: Side, row: Row, passes: int) -> float:
    """Return the seconds that the matrix products of a learning-phase step take."""
    return median(_probe(side, row) for _ in range(passes))


def _probe(side: Side, row: Row) -> float:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        task = Task(row, row.probe_steps, 1, row.probe_settings(), folder)
        found = folder / "products.json"
        command = [str(side.python), matmul_probe.__file__, str(found), *side.program(task)]
        run(command, side.environment(), folder, f"{row.algo} of {side.name}, profiled,")
        products = json.loads(found.read_text(encoding="utf-8"))
    return float(products["torch_s"] + products["numpy_s"]) / row.probe_learning_steps


if __name__ == "__main__":
    sys.exit(main())
