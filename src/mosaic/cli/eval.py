"""`mosaic eval`: evaluate a policy, or that of a run, as a run of its own."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mosaic.cli.arguments import unknown_word
from mosaic.cli.eval_against import evaluate_both
from mosaic.cli.launching import launch
from mosaic.cli.parameter_table import parameter_lines
from mosaic.cli.steady import SteadyClient
from mosaic.contracts.errors import EXIT_OK, ConfigError
from mosaic.contracts.evaluation_request import (
    OWN,
    evaluate_policy,
    evaluate_run,
    evaluation_options,
    given_same_seed,
)
from mosaic.contracts.parameters import parse_given
from mosaic.contracts.paths import VarPaths
from mosaic.workers.discovery import load_catalogue

USAGE = """\
usage: mosaic eval RUN|POLICY [flags]

Evaluate the policy of a run, or a policy file or checkpoint, as a run of its own. With --against
two of them play the same episodes, and are compared.

{own}

options of the evaluation:
{options}
"""


def run(words: Sequence[str]) -> int:
    options = evaluation_options()
    if "-h" in words or "--help" in words:
        lists = [parameter_lines(OWN), parameter_lines(options)]
        own, more = ("\n".join(lines) for lines in lists)
        print(USAGE.format(own=own, options=more), end="")
        return EXIT_OK
    given, rest = parse_given([*OWN, *options], words, owner="mosaic eval")
    flags = [word for word in rest if word.startswith("-")]
    if flags:
        raise unknown_word("mosaic eval", flags[0], [each.flag for each in (*OWN, *options)])
    if len(rest) != 1:
        raise ConfigError("eval: name one run, or one policy: mosaic eval RUN|POLICY.")
    with SteadyClient(VarPaths.default()) as steady:
        detach, as_json = bool(given.get("detach")), bool(given.get("json"))
        if given.get("against") is not None:
            given = given_same_seed(given)
            targets = [rest[0], given.pop("against")]
            documents = [_document(steady, target, given) for target in targets]
            return evaluate_both(steady, targets, documents, detach=detach, as_json=as_json)
        document = _document(steady, rest[0], given)
        return launch(steady, [document], detach=detach, as_json=as_json)


def _document(steady: SteadyClient, target: str, given: Mapping[str, Any]) -> dict[str, Any]:
    policy = Path(target).expanduser()
    if policy.exists() or len(policy.parts) > 1:
        catalogue = load_catalogue()
        return evaluate_policy(policy, given, lambda algo: catalogue.find(algo).worker)
    details = steady.client.get_run(target)
    return evaluate_run(json.loads(details.config_json), Path(details.run_dir), given)
