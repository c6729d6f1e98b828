"""The start-up hook of a CleanRL script's process.

Python imports this before the script, because its folder is on PYTHONPATH. It first runs the
`sitecustomize` that would have been found without it. Where no worker of ours started the process,
that is all it does.
"""

import importlib.machinery
import importlib.util
import os
import sys
import traceback

_HERE = os.path.dirname(os.path.abspath(__file__))


def _run_next() -> None:
    """Run the user's own sitecustomize, under that name, as if this file were not there."""
    others = [entry for entry in sys.path if os.path.abspath(entry) != _HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


def _install() -> None:
    # Taken away: processes that the script starts are none of ours.
    purpose = os.environ.pop("MOSAIC_SCRIPT_PURPOSE", None)
    if purpose is None:
        return
    try:
        from cleanrl_worker.upstream.hook import install

        install(purpose)
    except Exception:  # noqa: BLE001 - the process border
        # Python goes on after a broken sitecustomize: the run would train unseen.
        traceback.print_exc()
        os._exit(1)


_install()
_run_next()
