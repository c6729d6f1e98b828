"""Train with the daemon: one submission for each seed."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

from mosaic.cli.launching import launch
from mosaic.cli.local_run import without_name
from mosaic.cli.steady import SteadyClient
from mosaic.contracts.capabilities import WorkerCapabilities
from mosaic.contracts.errors import EXIT_CONFIG
from mosaic.contracts.paths import VarPaths
from mosaic.contracts.submitting import environment_secrets
from mosaic.contracts.train_request import TrainRequest, train_documents


def train_with_daemon(request: TrainRequest, worker: WorkerCapabilities) -> int:
    documents = train_documents(request, worker)
    with SteadyClient(VarPaths.default()) as steady:
        if request.validate:
            code = _validate(steady, documents[0], is_silent=request.json)
            if code:
                return code
        return launch(steady, documents, detach=request.detach, as_json=request.json)


def _validate(steady: SteadyClient, document: Mapping[str, Any], *, is_silent: bool) -> int:
    """Do the dry run; return its exit code, and show what it found."""
    answer = steady.client.validate(document, secrets=environment_secrets())
    if not answer.is_valid:
        print(f"mosaic: {without_name(answer.error)}", file=sys.stderr)
        return answer.exit_code or EXIT_CONFIG
    if not is_silent:
        from mosaic.cli.dry_run import summary_lines

        print("\n".join(summary_lines(json.loads(answer.summary_json))))
    return 0
