"""`mosaic resume`: continue a run from a checkpoint, as a new run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mosaic.cli.arguments import Parser
from mosaic.cli.launching import launch
from mosaic.cli.run_view import has_ended, state_word
from mosaic.cli.steady import SteadyClient
from mosaic.cli.train_flags import unknown_flag
from mosaic.contracts.continuation import continue_config
from mosaic.contracts.errors import ConfigError
from mosaic.contracts.parameters import parse_given
from mosaic.contracts.paths import VarPaths
from mosaic.contracts.resume_request import OWN, resume_changes, resume_difference, resume_options
from mosaic.contracts.worker_config import extract_worker_config
from mosaic.workers.discovery import load_catalogue

if TYPE_CHECKING:
    from mosaic.proto.trainer_pb2 import Run


def run(words: Sequence[str]) -> int:
    parser = Parser(
        prog="mosaic resume",
        description="Continue a run from its last exact checkpoint, as a new run that names it as\n"
        "its parent. 'mosaic unpause' is for runs that were paused. Every hyperparameter of its\n"
        "algorithm and every key of extras is a flag as well, and changes that setting from there.",
    )
    parser.add_argument("run", metavar="RUN", help="a run, by any unambiguous prefix")
    parser.add_argument(
        "--from", dest="from_step", metavar="STEP", type=int, help="the checkpoint of this step"
    )
    parser.add_argument(
        "--total-timesteps", metavar="N", type=int, help="a new total, earlier steps included"
    )
    parser.add_argument("--detach", action="store_true", help="submit it and return")
    parser.add_argument("--json", action="store_true", help="print one JSON object, no progress")
    given, more = parser.parse_known_args(list(words))
    with SteadyClient(VarPaths.default()) as steady:
        details = steady.client.get_run(given.run)
        if given.from_step is None:
            _check_ended(details.run)
        config = json.loads(details.config_json)
        document = continue_config(
            config,
            Path(details.run_dir),
            from_step=given.from_step,
            total_timesteps=given.total_timesteps,
            changes=_changes(config, more),
        )
        if not given.json:
            _show_difference(config, document)
        return launch(steady, [document], detach=given.detach, as_json=given.json)


def _show_difference(config: Mapping[str, Any], document: Mapping[str, Any]) -> None:
    """Say from where it goes on, and what is changed."""
    made = extract_worker_config(document)
    print(f"from {made['extras']['checkpoint_path']}")
    algorithm = load_catalogue().find(made["algo"]).algorithm
    for line in resume_difference(config, document, algorithm):
        print(f"  {line}")


def _changes(config: Mapping[str, Any], words: Sequence[str]) -> dict[str, Any]:
    """Read the flags that only the run's own algorithm explains."""
    if not words:
        return {}
    algorithm = load_catalogue().find(extract_worker_config(config)["algo"]).algorithm
    options = resume_options(algorithm)
    given, unknown = parse_given(options, words, owner="mosaic resume")
    if unknown:
        raise unknown_flag("mosaic resume", unknown[0], [*OWN, *options])
    return resume_changes(algorithm, given)


def _check_ended(run: Run) -> None:
    if not has_ended(run):
        raise ConfigError(
            f"The run {run.run_id} has not ended: it is {state_word(run)}.",
            hint="Cancel it first, or name the checkpoint with --from STEP.",
        )
