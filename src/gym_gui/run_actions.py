"""What is done to several runs at once: each is tried, and what went wrong is told by run."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from gym_gui.run_rows import has_ended, state_word
from mosaic.client.asynchronous import AsyncClient
from mosaic.contracts.continuation import continue_config, repeat_config
from mosaic.contracts.errors import ConfigError, DaemonUnreachable, MosaicError
from mosaic.contracts.secrets import ENVIRONMENT_OF
from mosaic.proto import trainer_pb2 as pb

Action = Callable[[AsyncClient, str], Awaitable[pb.Run]]


@dataclass(frozen=True, slots=True)
class Done:
    """The runs that an action gave, and one line for each run that refused it."""

    runs: tuple[pb.Run, ...]
    problems: tuple[str, ...]


async def act_on_all(client: AsyncClient, run_ids: Sequence[str], action: Action) -> Done:
    """Do it to every run; one that refuses does not keep the others from it."""
    runs, problems = [], []
    for run_id in dict.fromkeys(run_ids):
        try:
            runs.append(await action(client, run_id))
        except DaemonUnreachable:
            raise  # the others would fail alike
        except MosaicError as error:
            problems.append(error.one_line())
    return Done(tuple(runs), tuple(problems))


async def look(client: AsyncClient, run_id: str) -> pb.Run:
    """Return the run as it is."""
    return (await client.get_run(run_id)).run


async def cancel(client: AsyncClient, run_id: str) -> pb.Run:
    return await client.cancel(run_id)


async def delete(client: AsyncClient, run_id: str) -> pb.Run:
    """Move a run to the bin."""
    return await client.delete(run_id)


async def purge(client: AsyncClient, run_id: str) -> pb.Run:
    return await client.delete(run_id, purge=True)


async def archive(client: AsyncClient, run_id: str) -> pb.Run:
    return await client.archive(run_id)


async def restore(client: AsyncClient, run_id: str) -> pb.Run:
    return await client.restore(run_id)


async def resume(client: AsyncClient, run_id: str) -> pb.Run:
    """Go on from the last exact checkpoint, as `mosaic resume` does."""
    details = await client.get_run(run_id)
    if not has_ended(details.run):
        raise ConfigError(
            f"The run {details.run.run_id} has not ended: it is {state_word(details.run)}.",
            hint="Cancel it first.",
        )
    config = json.loads(details.config_json)
    document = await asyncio.to_thread(continue_config, config, Path(details.run_dir))
    return (await client.submit(document, secrets=_secrets())).run


async def clone(client: AsyncClient, run_id: str) -> pb.Run:
    """Submit the same config again."""
    details = await client.get_run(run_id)
    document = repeat_config(json.loads(details.config_json))
    return (await client.submit(document, secrets=_secrets())).run


def _secrets() -> dict[str, str]:
    return {name: os.environ[name] for name in ENVIRONMENT_OF.values() if os.environ.get(name)}
