"""Records of the store as messages of the protocol."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from mosaic.proto import trainer_pb2 as pb
from mosaic.trainer.ingest import Point
from mosaic.trainer.store.metrics import Envelope, TagSummary
from mosaic.trainer.store.runs import RunRecord

_OPTIONAL = (
    "seed",
    "total_timesteps",
    "started_at",
    "ended_at",
    "exit_code",
    "signal",
    "last_return",
    "steps_per_second",
    "deleted_at",
)
_PLAIN = (
    *("run_id", "name", "reason", "algo", "env_id", "worker_id", "step", "created_at", "mode"),
    *("worker", "is_archived", "revision"),
)


def run_message(record: RunRecord, queue: Mapping[str, int] | None = None) -> pb.Run:
    """Return the message of a run; `queue` holds the places of those that wait."""
    given = {name: getattr(record, name) for name in _PLAIN}
    given |= {name: value for name in _OPTIONAL if (value := getattr(record, name)) is not None}
    return pb.Run(
        **given,
        state=record.state,
        outcome=record.outcome or "",
        parent_run_id=record.parent_run_id or "",
        is_cancelling=record.cancel_requested_at is not None and record.ended_at is None,
        queue_position=(queue or {}).get(record.run_id, 0),
    )


def details_message(
    run: pb.Run,
    record: RunRecord,
    *,
    run_dir: str,
    manifest: str,
    event_lines: Sequence[str],
) -> pb.RunDetails:
    return pb.RunDetails(
        run=run,
        config_json=json.dumps(record.config),
        run_dir=run_dir,
        manifest_json=manifest,
        last_lines=record.last_lines,
        event_lines=event_lines,
        reserved_json=json.dumps(record.reserved),
        garbage_lines=record.garbage_lines,
    )


def envelope_message(tag: TagSummary, envelope: Envelope) -> pb.Series:
    return pb.Series(
        tag=tag.tag,
        total_points=tag.count,
        points_per_bucket=envelope.points_per_bucket,
        first_step=envelope.first_step,
        last_step=envelope.last_step,
        minimum=envelope.minimum,
        maximum=envelope.maximum,
        mean=envelope.mean,
        count=envelope.count,
        nonfinite=envelope.nonfinite,
        last_value=tag.last_value,
        last_step_seen=tag.last_step,
    )


def tag_message(tag: TagSummary) -> pb.Series:
    return pb.Series(
        tag=tag.tag,
        total_points=tag.count,
        last_value=tag.last_value,
        last_step_seen=tag.last_step,
    )


def points_message(points: Iterable[Point]) -> list[pb.Series]:
    """Return new points, those of a tag together and in their order."""
    by_tag = groupby(sorted(points, key=lambda point: point[0]), key=lambda point: point[0])
    return [_series(tag, list(group)) for tag, group in by_tag]


def _series(tag: str, points: list[Point]) -> pb.Series:
    _, steps, values, lows, highs, counts = zip(*points, strict=True)
    return pb.Series(
        tag=tag,
        points_per_bucket=1,
        first_step=steps,
        last_step=steps,
        minimum=lows,
        maximum=highs,
        mean=values,
        count=counts,
        last_value=values[-1],
        last_step_seen=steps[-1],
    )
