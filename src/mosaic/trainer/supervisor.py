"""The supervisor: what users ask of runs, and what proxies tell of them, brought together."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any

from mosaic.contracts.errors import ConfigError, MosaicError
from mosaic.contracts.states import Outcome, RunState, is_terminal
from mosaic.proto import trainer_pb2 as pb
from mosaic.trainer import log
from mosaic.trainer.active import ActiveRun, ProxyLink
from mosaic.trainer.desk import Desk, new_record
from mosaic.trainer.ingest import Decoded, decode, is_storable
from mosaic.trainer.journal import SAVE_INTERVAL_S, Journal, unknown_run
from mosaic.trainer.lifecycle import End, Exit, Sign, conclude, has_process, may_pause, was_crash
from mosaic.trainer.starter import Starter
from mosaic.trainer.store.runs import RunRecord
from mosaic.trainer.submission import Submission

CANCELLED_BY_USER = "Cancelled."
# What only the worker knows: the seed that it drew; of one that was started by hand, the rest.
_TOLD_AT_START = {"seed": int, "env_id": str, "algo": str, "total_timesteps": int}


class Gap(MosaicError):
    """A batch begins behind what is stored: the proxy must go back."""

    code = "storage"


class Supervisor:
    """Every unfinished run. All of it happens on the event loop."""

    def __init__(self, journal: Journal, starter: Starter, desk: Desk, *, grace_s: float) -> None:
        self.journal = journal
        self.starter = starter
        self._desk = desk
        self._grace_s = grace_s
        self.runs = starter.runs
        self._tasks: set[asyncio.Task[Any]] = set()

    # What users ask for

    async def submit(self, submission: Submission) -> tuple[RunRecord, bool]:
        """Accept a run; False: its idempotency key named one that is there."""
        self.starter.refuse_impossible(submission.request)
        record = await self.journal.insert(new_record(submission, self._desk.paths))
        if record.run_id != submission.run_id:
            return record, False
        self.runs[record.run_id] = ActiveRun(record, submission.secrets)
        log.say("run_submitted", record.run_id, f"{record.algo} on {record.env_id}")
        await self.starter.start_what_fits()
        run = self.runs.get(record.run_id)
        return (record if run is None else run.record), True

    async def cancel(self, record: RunRecord, reason: str = CANCELLED_BY_USER) -> RunRecord:
        run = self._active(record, "cancelled")
        async with run.lock:
            if is_terminal(run.record.state):
                raise _ended(run.record, "cancelled")
            if run.is_cancelling:
                return run.record
            if not has_process(run.record.state):
                return await self._end(run, Exit(), End(Outcome.CANCELLED, reason))
            await self.journal.change(run, cancel_requested_at=time.time(), cancel_reason=reason)
            self._send_cancel(run)
            return run.record

    async def pause(self, record: RunRecord) -> RunRecord:
        run = self._active(record, "paused")
        if not may_pause(run.record.state) or run.is_cancelling:
            raise _wrong_state(run, "paused", "EXECUTING")
        await self._ask(run, pb.Command(pause=pb.Empty()), "paused")
        return await self.was_paused(run)

    async def unpause(self, record: RunRecord) -> RunRecord:
        run = self._active(record, "unpaused")
        if run.record.state is not RunState.PAUSED:
            raise _wrong_state(run, "unpaused", "PAUSED")
        await self._ask(run, pb.Command(unpause=pb.Empty()), "unpaused")
        return await self.was_unpaused(run)

    async def _ask(self, run: ActiveRun, command: pb.Command, answer: str) -> None:
        failure = "its proxy is not connected" if run.link is None else ""
        if run.link is not None:
            failure = await run.link.ask(command, answer)
        if failure:
            raise ConfigError(f"Run {run.run_id} cannot be {answer}: {failure}. Try again.")

    def _active(self, record: RunRecord, done: str) -> ActiveRun:
        run = self.runs.get(record.run_id)
        if run is None:
            raise _ended(record, done) if is_terminal(record.state) else unknown_run(record.run_id)
        return run

    # What proxies tell

    def attach(self, run_id: str) -> ProxyLink:
        """Open the way to a proxy; a run that has ended lets it go at once."""
        link = ProxyLink()
        run = self.runs.get(run_id)
        if run is None:
            link.send(pb.Command(finish=pb.Empty()))
            return link
        if run.link is not None:
            run.link.close()
        run.link = link
        if run.is_cancelling:
            self._send_cancel(run)
        return link

    def detach(self, run_id: str, link: ProxyLink) -> None:
        run = self.runs.get(run_id)
        if run is not None and run.link is link:
            run.link = None

    async def was_registered(self, run_id: str, worker_id: str) -> int:
        """Note that the worker is known, and return the offset at which its spool goes on."""
        run = self.runs.get(run_id)
        if run is None:
            return await self._offset_of_ended(run_id)
        async with run.lock:
            run.was_heard()
            changes = {"worker_id": worker_id} if worker_id else {}
            await self.journal.sign(run, Sign.REGISTERED, **changes)
        return run.offset

    async def _offset_of_ended(self, run_id: str) -> int:
        record = await self.journal.find(run_id)
        if record.run_id != run_id:  # a prefix is for people
            raise unknown_run(run_id)
        return (await self.journal.load(record)).offset

    async def publish(self, batch: pb.EventBatch) -> int:
        """Store a batch, and return the offset that is acknowledged with it."""
        run = self.runs.get(batch.run_id)
        if run is None:  # it has ended: nothing of it is awaited any more
            return batch.next_offset
        async with run.lock:
            if is_terminal(run.record.state):
                return batch.next_offset
            if batch.offset > run.offset:
                raise Gap(f"offset={batch.offset} leaves a gap: go on at {run.offset}.")
            if batch.note:
                log.say("spool_skipped", run.run_id, batch.note)
            if batch.next_offset > run.offset:
                await self._take(run, batch.data, batch.offset, batch.next_offset)
            return run.offset

    async def _take(self, run: ActiveRun, data: bytes, offset: int, next_offset: int) -> None:
        decoded = decode(data, offset, events_from=run.events_offset, points_from=run.points_offset)
        run.was_heard()
        _note_progress(run, decoded)
        await self.journal.append(run, decoded, next_offset)
        if decoded.has_worked:
            await self.journal.sign(run, Sign.WORKED, started_at=time.time())
        if run.unsaved and time.monotonic() - run.saved_at > SAVE_INTERVAL_S:
            await self.journal.save(run)
        limit = _step_limit(run.record.config)
        step = run.unsaved.get("step", run.record.step)
        if limit is not None and step >= limit and not run.is_cancelling:
            reason = f"schedule.max_steps={limit} was reached."
            self.spawn(self.cancel(run.record, reason))

    async def was_paused(self, run: ActiveRun) -> RunRecord:
        async with run.lock:
            if await self.journal.sign(run, Sign.PAUSED):
                run.paused_since = time.monotonic()
            return run.record

    async def was_unpaused(self, run: ActiveRun) -> RunRecord:
        async with run.lock:
            run.was_heard()
            paused_s = run.record.paused_s
            if run.paused_since is not None:
                paused_s += time.monotonic() - run.paused_since
            run.paused_since = None
            await self.journal.sign(run, Sign.UNPAUSED, paused_s=paused_s)
            return run.record

    async def exited(self, run_id: str, told: pb.WorkerExit) -> None:
        """End a run whose every process is gone and whose every event is stored."""
        run = self.runs.get(run_id)
        if run is None:
            return
        exit = Exit(
            told.exit_code if told.HasField("exit_code") else None,
            told.signal if told.HasField("signal") else None,
        )
        async with run.lock:
            if not is_terminal(run.record.state):
                await self.conclude(run, exit, tuple(told.last_lines))

    # How runs end

    async def conclude(self, run: ActiveRun, exit: Exit, last_lines: tuple[str, ...]) -> None:
        if run.last_event is None:  # told to the daemon before this one, perhaps
            await self._remember_last_event(run)
        cancel_reason = run.record.cancel_reason if run.is_cancelling else None
        end = conclude(exit, run.last_event, run.last_payload, cancel_reason)
        failed = end.outcome is Outcome.FAILED
        await self._end(run, exit, end, last_lines=last_lines if failed else ())

    async def take_spool(self, run: ActiveRun, data: bytes, offset: int, next_offset: int) -> None:
        """Store a part of the spool that no proxy is there to send; the lock is held."""
        await self._take(run, data, offset, next_offset)

    async def lost(self, run: ActiveRun, reason: str) -> None:
        """End a run whose worker was not heard of for too long; its processes are killed."""
        await self._end(run, Exit(), End(Outcome.FAILED, reason), sign=Sign.LOST)

    async def _end(
        self,
        run: ActiveRun,
        exit: Exit,
        end: End,
        *,
        sign: Sign = Sign.ENDED,
        last_lines: tuple[str, ...] = (),
    ) -> RunRecord:
        await self.journal.save(run)
        await self.journal.sign(
            run,
            sign,
            outcome=end.outcome,
            reason=end.reason,
            ended_at=time.time(),
            exit_code=exit.code,
            signal=exit.signal,
            last_lines=last_lines,
        )
        del self.runs[run.run_id]
        log.say("run_ended", run.run_id, f"{end.outcome} {end.reason}".strip())
        if run.link is not None:
            run.link.send(pb.Command(finish=pb.Empty()))
        self.journal.end_streams(run.run_id)
        if was_crash(exit, end):
            self.spawn(self._resume_if_asked(run))
        self.spawn(self.starter.start_what_fits())
        return run.record

    async def _remember_last_event(self, run: ActiveRun) -> None:
        lines = await self.journal.event_lines(run.run_id)
        for line in lines[-3:]:
            decoded = decode(line.encode(), 0, events_from=0, points_from=0)
            if decoded.last_event is not None:
                run.last_event, run.last_payload = decoded.last_event, decoded.last_payload

    async def _resume_if_asked(self, run: ActiveRun) -> None:
        record = run.record
        files = self.starter.executor.files(record.run_id, record.mode)
        submission = await asyncio.to_thread(
            self._desk.continue_crashed, record, run.secrets, files
        )
        if submission is None:
            return
        successor, _ = await self.submit(submission)
        await self.journal.change_record(record.run_id, auto_resumed_by=successor.run_id)
        log.say("run_resumed", record.run_id, f"goes on as {successor.run_id}")

    def _send_cancel(self, run: ActiveRun) -> None:
        if run.link is not None:
            run.link.send(pb.Command(cancel=pb.Cancel(grace_s=self._grace_s)))

    def spawn(self, work: Any) -> None:
        """Do something beside; a fault in it is logged, and touches no run."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._finished)

    def _finished(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if task.cancelled() or task.exception() is None:
            return
        error = task.exception()
        try:
            raise error  # type: ignore[misc]
        except MosaicError as refused:
            log.say("run_refused", None, refused.one_line())
        except Exception:  # noqa: BLE001 - the border of a background task
            log.say_fault(None, "a background task failed")


def _note_progress(run: ActiveRun, decoded: Decoded) -> None:
    changes: dict[str, Any] = {}
    if decoded.step is not None and decoded.step > run.record.step:
        changes["step"] = decoded.step
    if decoded.last_return is not None:
        changes["last_return"] = decoded.last_return
    if decoded.steps_per_second is not None:
        changes["steps_per_second"] = decoded.steps_per_second
    for name, kind in _TOLD_AT_START.items():
        told = decoded.started.get(name)
        fits = is_storable(told) if kind is int else isinstance(told, kind)
        if fits and not getattr(run.record, name):
            changes[name] = told
    if decoded.garbage:
        before = run.unsaved.get("garbage_lines", run.record.garbage_lines)
        changes["garbage_lines"] = before + decoded.garbage
        if before == 0:
            log.say("worker_garbage", run.run_id, f"the first line: {decoded.first_garbage!r}")
    run.unsaved.update(changes)
    if decoded.last_event is not None:
        run.last_event, run.last_payload = decoded.last_event, decoded.last_payload


def _step_limit(config: Mapping[str, Any]) -> int | None:
    schedule = config.get("schedule")
    return schedule.get("max_steps") if isinstance(schedule, Mapping) else None


def _ended(record: RunRecord, done: str) -> ConfigError:
    how = f"{record.state}, {record.outcome}"
    return ConfigError(f"Run {record.run_id} cannot be {done}: it has ended already ({how}).")


def _wrong_state(run: ActiveRun, done: str, needed: str) -> ConfigError:
    state = "being cancelled" if run.is_cancelling else run.record.state
    return ConfigError(f"Run {run.run_id} cannot be {done}: it is {state}, not {needed}.")
