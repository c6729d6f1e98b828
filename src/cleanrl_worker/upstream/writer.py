"""The script's TensorBoard writer: its files go to the run's folder, its scalars also to us."""

from __future__ import annotations

import atexit
import functools
from pathlib import Path
from typing import Any

from cleanrl_worker.upstream.session import Session


class _Nothing:
    """Takes the place of the event file where there is to be none."""

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments, **options: None


def watch_writer(writer: Any, session: Session) -> None:
    """Change the class of torch's in place: scripts hold it under a name of their own."""
    start, add_scalar, open_file = writer.__init__, writer.add_scalar, writer._get_file_writer

    @functools.wraps(start)
    def init(self: Any, log_dir: Any = None, *arguments: Any, **options: Any) -> None:
        if log_dir is not None and session.is_own_process:
            # CleanRL saves its models there as well, and counts on the folder.
            Path(log_dir).mkdir(parents=True, exist_ok=True)
            log_dir = str(session.tensorboard_dir or log_dir)
        start(self, log_dir, *arguments, **options)
        # A script that is stopped closes nothing.
        atexit.register(self.close)

    @functools.wraps(add_scalar)
    def add(
        self: Any, tag: str, scalar_value: Any, global_step: Any = None, *more: Any, **options: Any
    ) -> None:
        add_scalar(self, tag, scalar_value, global_step, *more, **options)
        session.metric(tag, scalar_value, global_step)

    @functools.wraps(open_file)
    def open_or_not(self: Any) -> Any:
        return open_file(self) if session.tensorboard_dir is not None else _Nothing()

    writer.__init__, writer.add_scalar, writer._get_file_writer = init, add, open_or_not
