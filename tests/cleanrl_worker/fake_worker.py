"""The runtime around the fake algorithm: `python fake_worker.py SCENARIO CONFIG TIMING`."""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path

from cleanrl_worker.config import load_config
from cleanrl_worker.runtime import CleanRLWorkerRuntime, Timing
from mosaic.contracts.errors import MosaicError
from mosaic.contracts.paths import VarPaths
from mosaic.workers.emitter import EventEmitter

FAKE_ALGORITHM = Path(__file__).with_name("fake_algorithm.py")


def main(scenario: str, config: str, timing: str) -> int:
    logging.basicConfig(level=logging.WARNING)
    emitter = EventEmitter.claim_stdout()
    runtime = CleanRLWorkerRuntime(
        load_config(Path(config)),
        VarPaths.default(),
        emitter,
        launcher=(sys.executable, "-P", str(FAKE_ALGORITHM), scenario),
        timing=Timing(**json.loads(timing)),
    )
    try:
        return runtime.run()
    except MosaicError as error:
        print(error.one_line(), file=sys.stderr)
        return error.exit_code
    finally:
        emitter.close()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
