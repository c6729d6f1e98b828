"""Parquet without a library, read back by one."""

from __future__ import annotations

import io
import math
import struct

from pyarrow import parquet

from mosaic.trainer.archive.parquet import ParquetWriter

COLUMNS = (("tag", "str"), ("step", "int"), ("value", "float"))
ROWS = [
    ("charts/episodic_return", 0, 1.5),
    ("charts/ü", -(2**62), math.nan),
    ("", 2**62, -math.inf),
    *((f"tag-{number}", number, number / 3) for number in range(1000)),
]


def written() -> bytes:
    file = io.BytesIO()
    writer = ParquetWriter(file, COLUMNS)
    writer.write(list(zip(*ROWS[:100], strict=True)))
    writer.write(list(zip(*ROWS[100:], strict=True)))
    writer.close()
    return file.getvalue()


def test_the_frame_of_the_file() -> None:
    data = written()
    assert data[:4] == data[-4:] == b"PAR1"
    (length,) = struct.unpack("<I", data[-8:-4])
    footer = data[-8 - length : -8]
    assert all(name.encode() in footer for name, _ in COLUMNS)


def test_a_library_reads_the_same_values() -> None:
    table = parquet.read_table(io.BytesIO(written()))
    columns = [table.column(name).to_pylist() for name, _ in COLUMNS]
    found = list(zip(*columns, strict=True))
    assert [row[:2] for row in found] == [row[:2] for row in ROWS]
    assert struct.pack(f"{len(ROWS)}d", *columns[2]) == struct.pack(
        f"{len(ROWS)}d", *(row[2] for row in ROWS)
    )
