"""What is put into a script's process: two imports are watched, and how the process ends is told.

The script itself is neither read nor changed. It writes to TensorBoard and steps a Gymnasium
vector environment: at both places the session is told.
"""

from __future__ import annotations

import atexit
import importlib.machinery
import signal
import sys
from collections.abc import Callable, Sequence
from types import FrameType, ModuleType, TracebackType
from typing import Any

from cleanrl_worker.upstream.session import Session
from mosaic.contracts.errors import EXIT_TERMINATED
from mosaic.workers.processes import die_with_parent

DRY_RUN = "dry-run"
PURPOSE_VARIABLE = "MOSAIC_SCRIPT_PURPOSE"

Action = Callable[[ModuleType], None]


def install(purpose: str) -> None:
    """Watch this process from here on."""
    die_with_parent()
    session = Session.from_environment(is_dry_run=purpose == DRY_RUN)
    sys.meta_path.insert(
        0,
        _ImportWatch(
            {
                "torch.utils.tensorboard.writer": lambda module: _watch_writer(module, session),
                "gymnasium": lambda module: _watch_gymnasium(module, session),
            }
        ),
    )
    _watch_end(session)


def _watch_writer(module: ModuleType, session: Session) -> None:
    from cleanrl_worker.upstream.writer import watch_writer

    watch_writer(module.SummaryWriter, session)


def _watch_gymnasium(module: ModuleType, session: Session) -> None:
    from cleanrl_worker.upstream.environments import watch_environments

    watch_environments(module, session)


def _watch_end(session: Session) -> None:
    """Tell how the script ended: by itself, by an exception, or because it was asked to."""
    show = sys.excepthook

    def note(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        session.failed(error)
        show(kind, error, trace)

    def stop(number: int, frame: FrameType | None) -> None:
        session.was_stopped = True
        raise SystemExit(EXIT_TERMINATED)

    sys.excepthook = note
    signal.signal(signal.SIGTERM, stop)
    # Registered first, so it runs last: when what the script opened is closed.
    atexit.register(session.end)


class _ImportWatch:
    """Calls an action once the module of a name has been imported. First in sys.meta_path."""

    def __init__(self, actions: dict[str, Action]) -> None:
        self._actions = actions

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name not in self._actions:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            _follow(spec.loader, self._actions.pop(name))
        return spec


def _follow(loader: Any, action: Action) -> None:
    """Have the loader act after it has run its module; it stays the loader that it is."""
    run = loader.exec_module

    def run_and_act(module: ModuleType) -> None:
        run(module)
        action(module)

    loader.exec_module = run_and_act
