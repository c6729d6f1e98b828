"""The dry run of a config: the worker itself says whether it would run."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from pathlib import Path

from mosaic.contracts.errors import EXIT_CONFIG, EXIT_OK
from mosaic.contracts.files import write_json_whole
from mosaic.contracts.paths import VarPaths
from mosaic.proto import trainer_pb2 as pb
from mosaic.trainer.submission import Submission

TIMEOUT_S = 120.0


async def validate(submission: Submission, paths: VarPaths) -> pb.ValidateConfigResponse:
    """Run the worker with --dry-run, which writes nothing and trains nothing."""
    with tempfile.TemporaryDirectory(prefix="mosaic-dry-run-") as directory:
        config = Path(directory) / "config.json"
        await asyncio.to_thread(write_json_whole, config, submission.run_config.to_json())
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", submission.worker.module, "--config", str(config)),
            *("--dry-run", "--emit-summary"),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
            env=_environment(submission, paths),
        )
        try:
            out, err = await asyncio.wait_for(process.communicate(), TIMEOUT_S)
        except TimeoutError:
            process.kill()
            await process.wait()
            error = f"The dry run did not end within {TIMEOUT_S:.0f} s."
            return pb.ValidateConfigResponse(error=error, exit_code=EXIT_CONFIG)
    code = process.returncode or EXIT_OK
    lines = [line for line in err.decode(errors="replace").splitlines() if line.strip()]
    return pb.ValidateConfigResponse(
        is_valid=code == EXIT_OK,
        error="" if code == EXIT_OK else (lines or ["The dry run failed."])[-1],
        exit_code=code,
        summary_json=out.decode(errors="replace").strip() if code == EXIT_OK else "",
    )


def _environment(submission: Submission, paths: VarPaths) -> dict[str, str]:
    return {
        **os.environ,
        **submission.run_config.environment,
        **submission.secrets,
        "MOSAIC_VAR_DIR": str(paths.root),
    }
