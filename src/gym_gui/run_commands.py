"""What can be done to a run from its page; each has the words of the command that does the same."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from gym_gui.causes import has_ended
from mosaic.client.asynchronous import AsyncClient
from mosaic.contracts.continuation import continue_config, evaluation_config
from mosaic.contracts.submitting import environment_secrets
from mosaic.proto import trainer_pb2 as pb


@dataclass(frozen=True, slots=True)
class RunCommand:
    """An action on one run. `words` are those after `mosaic`; `opens` shows the run it returns."""

    text: str
    icon: str
    help: str
    words: tuple[str, ...]
    act: Callable[[AsyncClient], Awaitable[pb.Run]]
    opens: bool = False


def commands_for(run: pb.Run) -> list[RunCommand]:
    """Return what makes sense in the run's state, the most likely first."""
    run_id = run.run_id
    if run.HasField("deleted_at"):
        return [_restore(run_id)]
    if has_ended(run):
        return [*_continuing(run), delete(run_id)]
    halting = unpause(run_id) if run.state == "PAUSED" else pause(run_id)
    shown = [cancel(run_id)]
    if run.state in ("EXECUTING", "PAUSED"):
        shown.append(halting)
    return [] if run.is_cancelling else shown


def _continuing(run: pb.Run) -> list[RunCommand]:
    """Return how to go on; a run that is complete is resumed by the form, with more steps."""
    if run.mode == "policy_eval":
        return []
    evaluation = evaluate(run.run_id)
    return [evaluation] if run.outcome == "succeeded" else [resume(run.run_id), evaluation]


def forms_for(run: pb.Run) -> dict[str, str]:
    """Return the forms that begin with this run, and their addresses."""
    if run.mode == "policy_eval" or run.HasField("deleted_at"):
        return {}
    forms = {"Clone…": f"/launch?clone={run.run_id}"}
    forms["Evaluate with options…"] = f"/launch?form=evaluate&run={run.run_id}"
    if has_ended(run):
        forms["Resume with changes…"] = f"/launch?form=resume&run={run.run_id}"
    return forms


def cancel(run_id: str) -> RunCommand:
    return RunCommand(
        "Cancel",
        "stop",
        "End the run; it has a few seconds to save a checkpoint.",
        ("cancel", run_id),
        lambda client: client.cancel(run_id),
    )


def pause(run_id: str) -> RunCommand:
    return RunCommand(
        "Pause",
        "pause",
        "Stop its processes; they keep their memory.",
        ("pause", run_id),
        lambda client: client.pause(run_id),
    )


def unpause(run_id: str) -> RunCommand:
    return RunCommand(
        "Unpause",
        "play_arrow",
        "Let its processes go on.",
        ("unpause", run_id),
        lambda client: client.unpause(run_id),
    )


def resume(run_id: str, step: int | None = None) -> RunCommand:
    where = () if step is None else ("--from", str(step))
    return RunCommand(
        "Resume",
        "restart_alt",
        "Continue from a checkpoint, as a new run.",
        ("resume", run_id, *where, "--detach"),
        lambda client: _continue(client, run_id, step),
        opens=True,
    )


def evaluate(run_id: str, step: int | None = None) -> RunCommand:
    where = () if step is None else ("--from", str(step))
    return RunCommand(
        "Evaluate",
        "fact_check",
        "Play episodes with what it has learned, as a run of its own.",
        ("eval", run_id, *where, "--detach"),
        lambda client: _evaluate(client, run_id, step),
        opens=True,
    )


def delete(run_id: str) -> RunCommand:
    return RunCommand(
        "Delete",
        "delete",
        "Move the run to the bin, which keeps it for a week.",
        ("rm", run_id),
        lambda client: client.delete(run_id),
    )


def _restore(run_id: str) -> RunCommand:
    return RunCommand(
        "Restore",
        "restore_from_trash",
        "Take the run out of the bin.",
        ("restore", run_id),
        lambda client: client.restore(run_id),
    )


async def _continue(client: AsyncClient, run_id: str, step: int | None) -> pb.Run:
    details = await client.get_run(run_id)
    config, run_dir = json.loads(details.config_json), Path(details.run_dir)
    document = await asyncio.to_thread(continue_config, config, run_dir, from_step=step)
    return (await client.submit(document, secrets=environment_secrets())).run


async def _evaluate(client: AsyncClient, run_id: str, step: int | None) -> pb.Run:
    details = await client.get_run(run_id)
    config, run_dir = json.loads(details.config_json), Path(details.run_dir)
    document = await asyncio.to_thread(evaluation_config, config, run_dir, from_step=step)
    return (await client.submit(document, secrets=environment_secrets())).run
