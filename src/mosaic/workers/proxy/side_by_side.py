"""Work that goes on side by side, as the halves of a stream do, until one part ends."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any


async def until_one_ends(*works: Coroutine[Any, Any, None]) -> None:
    """Run these until the first ends, cancel the others, and raise what the first raised.

    gRPC cancels a task that uses a stream which the other side cancelled. Nobody asked for that
    here: it is a lost connection.
    """
    tasks = [asyncio.create_task(work) for work in works]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in done:
        if task.cancelled():
            raise ConnectionError("the daemon cancelled the call")
        task.result()
