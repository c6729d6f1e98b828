"""What `mosaic doctor` says: asked of the command itself, so that page and terminal agree."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from dataclasses import dataclass

from mosaic.contracts.paths import VarPaths

_TIMEOUT_S = 60.0
_ORDER = ("problem", "warning", "missing", "ok")


@dataclass(frozen=True, slots=True)
class Finding:
    name: str
    status: str  # "problem", "warning", "missing" or "ok"
    text: str
    fix: str = ""


async def diagnose(paths: VarPaths) -> list[Finding]:
    """Return the findings, the worst first. A doctor that fails is the worst of them."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "mosaic.cli", "doctor", "--json"),
        env={**os.environ, "MOSAIC_VAR_DIR": str(paths.root)},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        output, errors = await asyncio.wait_for(process.communicate(), _TIMEOUT_S)
    except TimeoutError:
        process.kill()
        await process.wait()
        return [
            Finding("doctor", "problem", f"took longer than {_TIMEOUT_S:.0f} s", "mosaic doctor")
        ]
    try:
        found = [Finding(**check) for check in json.loads(output)["checks"]]
    except (ValueError, KeyError, TypeError):
        last = (errors.decode(errors="replace").strip().splitlines() or ["no answer"])[-1]
        return [Finding("doctor", "problem", last, "mosaic doctor")]
    return sorted(found, key=lambda each: _ORDER.index(each.status))
