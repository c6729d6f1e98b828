"""The dry run: everything but training, in the algorithm's own process, leaving nothing behind."""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cleanrl_worker.child import AlgorithmProcess
from cleanrl_worker.config import CleanRLWorkerConfig
from cleanrl_worker.failure import explain, rejection, tail
from cleanrl_worker.plan import LaunchPlan, plan_launch
from cleanrl_worker.stopping import StopRequests
from mosaic.contracts.errors import EXIT_FAILED, EXIT_OK, StorageError
from mosaic.contracts.secrets import mask_secrets
from mosaic.workers.emitter import EventEmitter
from mosaic.workers.processes import exit_code_of

_TICK_S = 0.1


def dry_run(
    config: CleanRLWorkerConfig,
    emitter: EventEmitter,
    *,
    emit_summary: bool,
    launcher: Sequence[str] | None = None,
) -> int:
    """Check a config the whole way; a config that cannot be run is a MosaicError."""
    plan = plan_launch(config)
    try:
        scratch = tempfile.TemporaryDirectory(prefix="mosaic-dry-run-")
    except OSError as error:
        raise StorageError(f"No temporary directory can be made: {error.strerror}.") from None
    with scratch as name, StopRequests() as requests:
        folder = Path(name)
        returncode, messages = _run_algorithm(plan, launcher, folder, requests)
        if requests.first is not None:
            return requests.exit_code
        last = messages[-1] if messages else {}
        if last.get("kind") == "rejected":
            raise rejection(last)
        if last.get("kind") != "summary" or returncode != 0:
            return _report_crash(plan, returncode, tail(folder / "stderr"))
    _report(plan, last, emitter if emit_summary else None)
    return EXIT_OK


def _run_algorithm(
    plan: LaunchPlan, launcher: Sequence[str] | None, folder: Path, requests: StopRequests
) -> tuple[int, list[dict[str, Any]]]:
    child = AlgorithmProcess.start(
        plan.command(launcher, is_dry_run=True),
        cwd=folder,
        stdout=folder / "stdout",
        stderr=folder / "stderr",
        run_id=plan.config.run_id,
        variables={**plan.variables, **plan.dry_run_variables, **plan.config.secrets},
        code=plan.code,
    )
    messages: list[dict[str, Any]] = []
    while not child.poll():
        messages += child.read(_TICK_S)
        if requests.first is not None:
            child.signal(signal.SIGKILL)
    messages += child.read_rest()
    child.close()
    assert child.returncode is not None
    return child.returncode, messages


def _report(plan: LaunchPlan, found: dict[str, Any], emitter: EventEmitter | None) -> None:
    warnings = [*plan.warnings, *(found.get("warnings") or ())]
    if emitter is None:
        print(_headline(plan, found, warnings), file=sys.stderr)
        return
    summary = {
        "config": plan.config.to_json(),
        "algo": plan.config.algo,
        "module": plan.algorithm.module,
        "callable": plan.callable,
        "args": list(plan.arguments),
        "env": found.get("env"),
        "agent": found.get("agent"),
        "device": found.get("device"),
        "resources": found.get("resources"),
        "warnings": warnings,
    }
    emitter.write_line(json.dumps(summary))


def _headline(plan: LaunchPlan, found: dict[str, Any], warnings: Sequence[str]) -> str:
    agent = found.get("agent") or {}
    line = (
        f"cleanrl-worker: dry run passed: {plan.config.algo} on {plan.config.env_id}, "
        f"{agent.get('architecture')} with {agent.get('parameters')} parameters, "
        f"on {found.get('device')}."
    )
    return " ".join([line, *(f"Warning: {warning}" for warning in warnings)])


def _report_crash(plan: LaunchPlan, returncode: int, lines: Sequence[str]) -> int:
    variables = {**os.environ, **plan.config.secrets}
    shown = [mask_secrets(line, variables) for line in lines]
    error, _ = explain(returncode, shown)
    # The log goes with the temporary directory: this is its only way out.
    for line in shown:
        print(line, file=sys.stderr)
    print(f"cleanrl-worker: the dry run of {plan.config.algo} failed: {error}", file=sys.stderr)
    return exit_code_of(returncode) or EXIT_FAILED
