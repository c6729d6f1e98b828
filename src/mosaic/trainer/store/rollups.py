"""Envelopes of every power of ten points, kept up with the points in the same transaction.

All of it is SQL: new points are staged in a temporary table, bucketed by tens, the buckets again by
tens and so on up, and what came out is merged into the stored buckets. A batch costs its points
once and a tenth of that for all levels above.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from mosaic.trainer.store.bulk import insert_many

FAN_OUT = 10
# A bucket of the top level holds a hundred million points.
LEVELS = 8

# series_id, position, step, value, minimum, maximum, samples
Row = tuple[int, int, int, float, float | None, float | None, int]

_LARGEST_FINITE = 1.7976931348623157e308


def finite(expression: str) -> str:
    """Return SQL for the value if it is finite, else for NULL, which aggregates pass over."""
    return f"iif(abs({expression}) <= {_LARGEST_FINITE!r}, {expression}, NULL)"


# The columns of a bucket behind its key, over points and over smaller buckets.
OF_POINTS = f"""
    MIN(step) AS first_step,
    MAX(step) AS last_step,
    MIN({finite("coalesce(minimum, value)")}) AS minimum,
    MAX({finite("coalesce(maximum, value)")}) AS maximum,
    TOTAL({finite("value")} * samples) AS total,
    SUM(iif({finite("value")} IS NULL, 0, samples)) AS weight,
    SUM(samples) AS samples"""
OF_BUCKETS = """
    MIN(first_step) AS first_step,
    MAX(last_step) AS last_step,
    MIN(minimum) AS minimum,
    MAX(maximum) AS maximum,
    TOTAL(total) AS total,
    SUM(weight) AS weight,
    SUM(samples) AS samples"""

_STAGED_POINTS = """
    CREATE TEMP TABLE IF NOT EXISTS incoming
    (series_id, position, step, value, minimum, maximum, samples)"""
_STAGED_BUCKETS = """
    CREATE TEMP TABLE IF NOT EXISTS changes
    (series_id, level, bucket, first_step, last_step, minimum, maximum, total, weight, samples)"""
_FIRST_LEVEL = f"""
    INSERT INTO temp.changes
    SELECT series_id, 1, position / {FAN_OUT}, {OF_POINTS}
    FROM temp.incoming GROUP BY series_id, position / {FAN_OUT}"""
_NEXT_LEVEL = f"""
    INSERT INTO temp.changes
    SELECT series_id, level + 1, bucket / {FAN_OUT}, {OF_BUCKETS}
    FROM temp.changes WHERE level = ? GROUP BY series_id, bucket / {FAN_OUT}"""
# min() and max() of two values are NULL if one is: then the other stands.
_MERGE = """
    INSERT INTO rollups SELECT * FROM temp.changes WHERE true
    ON CONFLICT DO UPDATE SET
        first_step = min(first_step, excluded.first_step),
        last_step = max(last_step, excluded.last_step),
        minimum = coalesce(min(minimum, excluded.minimum), minimum, excluded.minimum),
        maximum = coalesce(max(maximum, excluded.maximum), maximum, excluded.maximum),
        total = total + excluded.total,
        weight = weight + excluded.weight,
        samples = samples + excluded.samples"""


def insert_points(connection: sqlite3.Connection, rows: Sequence[Row]) -> None:
    """Store points, and merge them into the buckets of every level."""
    connection.execute(_STAGED_POINTS)
    connection.execute(_STAGED_BUCKETS)
    insert_many(connection, "INSERT INTO temp.incoming VALUES", rows)
    connection.execute("INSERT INTO points SELECT * FROM temp.incoming")
    connection.execute(_FIRST_LEVEL)
    for level in range(1, LEVELS):
        connection.execute(_NEXT_LEVEL, (level,))
    connection.execute(_MERGE)
    connection.execute("DELETE FROM temp.incoming")
    connection.execute("DELETE FROM temp.changes")
