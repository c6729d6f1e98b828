"""Sending an offline run to W&B: its own command, with a key that is kept nowhere."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from pathlib import Path

from mosaic.contracts.errors import ConfigError, DependencyMissing, StorageError
from mosaic.contracts.installed import is_installed
from mosaic.contracts.secrets import mask_secrets

_TIMEOUT_S = 600.0
_SHOWN_CHARACTERS = 2_000


async def sync(folder: Path, key: str) -> str:
    """Send the run of this folder; return what W&B said. The key is an environment variable."""
    if not is_installed("wandb"):
        raise DependencyMissing("W&B is not installed.", hint="Install 'mosaic-rl[wandb]'.")
    if not key.strip():
        raise ConfigError("The API key is empty.", hint="wandb.ai/authorize shows yours.")
    secret = {"WANDB_API_KEY": key.strip()}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "wandb", "sync", str(folder)),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env={**os.environ, **secret},
        cwd=folder.parent,
    )
    try:
        output, _ = await asyncio.wait_for(process.communicate(), _TIMEOUT_S)
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        raise StorageError(f"W&B took longer than {_TIMEOUT_S:.0f} s.") from None
    text = mask_secrets(output.decode(errors="replace"), secret)
    if process.returncode != 0:
        last = " ".join(text.split())[-300:]
        raise StorageError(f"W&B did not take the run: {last}")
    return text[-_SHOWN_CHARACTERS:]
