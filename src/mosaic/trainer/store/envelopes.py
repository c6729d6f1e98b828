"""Read a series as an envelope: at most so many buckets, none of which hides an extreme."""

from __future__ import annotations

import math
import sqlite3
from dataclasses import dataclass, field, replace

from mosaic.contracts.errors import ConfigError
from mosaic.trainer.store.rollups import FAN_OUT, LEVELS, OF_BUCKETS, OF_POINTS, finite

DEFAULT_POINTS = 1000
LARGEST_REQUEST = 20_000

_POINTS = f"""
    SELECT step, step, coalesce(minimum, value), coalesce(maximum, value), value, samples,
        iif({finite("value")} IS NULL, samples, 0)"""
# Rounding, or a sum that overflowed, must not put the mean outside.
_BUCKETS = """
    SELECT first_step, last_step, minimum, maximum,
        max(minimum, min(maximum, total / weight)), samples, samples - weight"""

_EARLIEST, _LATEST = -(2**63), 2**63 - 1


@dataclass(frozen=True, slots=True)
class Envelope:
    """Parallel columns, in the order the points came; bucket i covers first_step to last_step.

    Minimum, maximum and mean are over finite values, and NaN where a bucket has none; `count` is
    of all samples and `nonfinite` of those that were NaN or infinite. With one point to a bucket
    they are the points themselves, as they came.
    """

    tag: str
    total_points: int = 0
    points_per_bucket: int = 1
    first_step: list[int] = field(default_factory=list)
    last_step: list[int] = field(default_factory=list)
    minimum: list[float] = field(default_factory=list)
    maximum: list[float] = field(default_factory=list)
    mean: list[float] = field(default_factory=list)
    count: list[int] = field(default_factory=list)
    nonfinite: list[int] = field(default_factory=list)
    last_value: float | None = None
    last_step_seen: int | None = None


@dataclass(frozen=True, slots=True)
class _Window:
    """The steps asked for, of one series."""

    series_id: int
    from_step: int
    to_step: int


@dataclass(frozen=True, slots=True)
class _Span:
    """Buckets of one level, from the first to the last that touch the window. Level 0 is points."""

    level: int
    first: int
    last: int

    @property
    def width(self) -> int:
        return self.last - self.first + 1


def envelope(
    connection: sqlite3.Connection,
    run_id: str,
    tag: str,
    from_step: int | None = None,
    to_step: int | None = None,
    max_points: int = 0,
) -> Envelope:
    """Return the series between two steps, both included; a tag without points is empty."""
    limit = _check_limit(max_points)
    series = connection.execute(
        "SELECT series_id, points, last_step, last_value, is_trimmed FROM series "
        "WHERE run_id = ? AND tag = ?",
        (run_id, tag),
    ).fetchone()
    if series is None:
        return Envelope(tag)
    series_id, points, last_step, last_value, is_trimmed = series
    window = _Window(
        series_id,
        _EARLIEST if from_step is None else from_step,
        _LATEST if to_step is None else to_step,
    )
    span = _narrow(connection, window, points, finest=1 if is_trimmed else 0, limit=limit)
    empty = Envelope(
        tag, total_points=points, last_value=_number(last_value), last_step_seen=last_step
    )
    return empty if span is None else _fill(connection, empty, window, span, limit)


def _check_limit(max_points: int) -> int:
    if not 0 <= max_points <= LARGEST_REQUEST:
        raise ConfigError(
            f"max_points={max_points} is not allowed: give 1 to {LARGEST_REQUEST}, "
            f"or 0 for {DEFAULT_POINTS}."
        )
    return max_points or DEFAULT_POINTS


def _narrow(
    connection: sqlite3.Connection, window: _Window, points: int, *, finest: int, limit: int
) -> _Span | None:
    """Go down from the coarsest level for as long as what is found there is few enough."""
    level = finest
    while level < LEVELS and points > FAN_OUT**level:
        level += 1
    span = _touching(connection, window, _Span(level, 0, (points - 1) // FAN_OUT**level))
    while span is not None and span.level > finest and span.width <= limit:
        below = _Span(span.level - 1, span.first * FAN_OUT, (span.last + 1) * FAN_OUT - 1)
        span = _touching(connection, window, below)
    return span


def _touching(connection: sqlite3.Connection, window: _Window, within: _Span) -> _Span | None:
    """Return the first and the last bucket that touch the window.

    Steps may jump back, so that no search by halves would do; but the first that touches is close
    to where the level above has it.
    """
    source = _source(window, within)
    statement = f"SELECT {source.key} FROM {source.where} ORDER BY {source.key} {{}} LIMIT 1"
    first = connection.execute(statement.format("ASC"), source.values).fetchone()
    if first is None:
        return None
    (last,) = connection.execute(statement.format("DESC"), source.values).fetchone()
    return _Span(within.level, first[0], last)


@dataclass(frozen=True, slots=True)
class _Source:
    key: str
    columns: str
    where: str
    values: dict[str, int]


def _source(window: _Window, span: _Span) -> _Source:
    """Return where the rows of a span are, and what buckets of them are made of."""
    values = {
        "series": window.series_id,
        "level": span.level,
        "first": span.first,
        "last": span.last,
        "from": window.from_step,
        "to": window.to_step,
    }
    if span.level == 0:
        where = "points WHERE series_id = :series AND step BETWEEN :from AND :to"
        return _Source(
            "position", OF_POINTS, f"{where} AND position BETWEEN :first AND :last", values
        )
    where = "rollups WHERE series_id = :series AND level = :level AND last_step >= :from"
    return _Source(
        "bucket",
        OF_BUCKETS,
        f"{where} AND first_step <= :to AND bucket BETWEEN :first AND :last",
        values,
    )


def _fill(
    connection: sqlite3.Connection, empty: Envelope, window: _Window, span: _Span, limit: int
) -> Envelope:
    factor = _factor(span, limit)
    source = _source(window, span)
    if span.level == 0 and factor == 1:
        statement = f"{_POINTS} FROM {source.where} ORDER BY position"
    else:
        buckets = f"SELECT {source.key} / {factor} AS place, {source.columns} FROM {source.where}"
        statement = f"{_BUCKETS} FROM ({buckets} GROUP BY place) ORDER BY place"
    rows = connection.execute(statement, source.values).fetchall()
    first, last, minimum, maximum, mean, count, nonfinite = zip(*rows, strict=True)
    return replace(
        empty,
        points_per_bucket=factor * FAN_OUT**span.level,
        first_step=list(first),
        last_step=list(last),
        minimum=_numbers(minimum),
        maximum=_numbers(maximum),
        mean=_numbers(mean),
        count=list(count),
        nonfinite=list(nonfinite),
    )


def _factor(span: _Span, limit: int) -> int:
    """Return how many neighbours to merge. Their bounds stay where they are as the series grows."""
    factor = -(-span.width // limit)
    while span.last // factor - span.first // factor >= limit:
        factor += 1
    return factor


def _numbers(values: tuple[float | None, ...]) -> list[float]:
    return [_number(value) for value in values]


def _number(value: float | None) -> float:
    return math.nan if value is None else value
