"""One run of a script, as its own process sees it: metrics, lanes, and how it ends.

It lives beside CleanRL's packages: of ours it imports what needs the standard library and numpy.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cleanrl_worker.channel import Channel
from cleanrl_worker.sinks import MetricFile
from cleanrl_worker.upstream.findings import describe_script
from cleanrl_worker.upstream.refusals import refusal_of

if TYPE_CHECKING:
    from cleanrl_worker.upstream.lanes import ScriptLanes

FOLDER_VARIABLE = "MOSAIC_TENSORBOARD_DIR"


class Enough(SystemExit):
    """Ends a dry run: the script has built everything and taken its first step."""


class Session:
    """Used by the script's main thread; a fork of the process says nothing."""

    def __init__(
        self, channel: Channel, *, run_dir: Path, tensorboard_dir: Path | None, is_dry_run: bool
    ) -> None:
        self.run_dir = run_dir
        self.tensorboard_dir = tensorboard_dir
        self.is_dry_run = is_dry_run
        self.was_stopped = False
        self.steps = 0
        self.lanes: ScriptLanes | None = None
        self.envs: Any = None  # the newest vector environment
        self._channel = channel
        self._file = None if is_dry_run else MetricFile(run_dir / "metrics.jsonl")
        self._owner = os.getpid()
        self._started = time.perf_counter()
        self._logged_step = 0
        self._has_begun = False
        self._has_failed = False

    @classmethod
    def from_environment(cls, *, is_dry_run: bool) -> Session:
        folder = os.environ.pop(FOLDER_VARIABLE, "")
        run_dir = Path.cwd()
        return cls(
            Channel.from_environment(),
            run_dir=run_dir,
            tensorboard_dir=run_dir / folder if folder else None,
            is_dry_run=is_dry_run,
        )

    @property
    def is_own_process(self) -> bool:
        return os.getpid() == self._owner

    def metric(self, tag: str, value: Any, step: int | None) -> None:
        """Hand on a scalar that the script wrote to TensorBoard."""
        if not self.is_own_process:
            return
        if self.is_dry_run:
            raise Enough(0)
        self._begin()
        # A number, or an array or tensor of one element.
        number = float(value.item() if hasattr(value, "item") else value)
        step = int(step or 0)
        self._logged_step = max(self._logged_step, step)
        self._channel.send("metric", step=step, values={tag: number})
        if self._file is not None:
            self._file.scalars(step, {tag: number})

    def stepped(self, num_envs: int) -> None:
        """Count a step of the script's environments."""
        if not self._has_begun:
            self._start_clock()
        self.steps += num_envs
        if self.is_dry_run and self.is_own_process:
            raise Enough(0)

    def _start_clock(self) -> None:
        self._started = time.perf_counter()
        self._begin()

    def _begin(self) -> None:
        if not self._has_begun and not self.is_dry_run and self.is_own_process:
            self._has_begun = True
            self._channel.send("prepared", device=None, backend="script", warnings=[])

    def failed(self, error: BaseException) -> None:
        """Note that the script ended in an exception; before its first step it is a refusal."""
        if not self.is_own_process:
            return
        self._has_failed = True
        if isinstance(error, KeyboardInterrupt):
            self.was_stopped = True
        elif not self._has_begun and (refused := refusal_of(error)) is not None:
            self._channel.send("rejected", code=refused.code, message=refused.one_line())

    def end(self) -> None:
        """Tell how the script ended; the last thing that the process does."""
        if not self.is_own_process:
            return
        if self._file is not None:
            self._file.close()
        if self.is_dry_run:
            if not self._has_failed:
                self._channel.send("summary", **describe_script(self.envs))
            return
        steps = self.steps or self._logged_step
        if self.was_stopped:
            self._finish("stopped", steps)
        elif not self._has_failed and steps:
            self._finish("completed", steps)
        elif not self._has_failed:
            self._channel.send(
                "rejected",
                code="config",
                message="The script ended without a single step: total_timesteps is less than one "
                "of its iterations (num_envs x num_steps).",
            )

    def _finish(self, status: str, steps: int) -> None:
        speed = steps / max(time.perf_counter() - self._started, 1e-9)
        self._channel.send("finished", status=status, steps=steps, steps_per_second=round(speed, 1))
