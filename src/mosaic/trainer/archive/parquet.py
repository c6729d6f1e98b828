"""Parquet, as little of it as a table of numbers needs: required columns, plain pages, Zstandard.

The layout is that of the Parquet format's specification, its headers in Thrift's compact protocol.
A library for it would take more memory than the whole daemon.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import IO, Any

import zstandard

_MAGIC = b"PAR1"
_INT64, _DOUBLE, _BYTE_ARRAY = 2, 5, 6
_UTF8, _REQUIRED, _PLAIN, _RLE, _ZSTD, _DATA_PAGE = 0, 0, 0, 3, 6, 0
# Types of fields in the compact protocol.
_I32, _I64, _BINARY, _LIST, _STRUCT = 5, 6, 8, 9, 12

KINDS = {"int": _INT64, "float": _DOUBLE, "str": _BYTE_ARRAY}

# (number, type, value); a list's value is (type of its items, items).
Field = tuple[int, int, Any]


class ParquetWriter:
    """Writes row groups to a stream that need not be seekable; `close` writes the footer."""

    def __init__(self, file: IO[bytes], columns: Sequence[tuple[str, str]]) -> None:
        self._file = file
        self._columns = [(name, KINDS[kind]) for name, kind in columns]
        self._groups: list[list[Field]] = []
        self._rows = 0
        self._offset = 0
        self._write(_MAGIC)

    def write(self, columns: Sequence[Sequence[Any]]) -> None:
        """Write one row group, given by columns."""
        count = len(columns[0])
        if not count:
            return
        chunks = [
            self._write_chunk(name, kind, values)
            for (name, kind), values in zip(self._columns, columns, strict=True)
        ]
        total = sum(size for _, size in chunks)
        parts = [chunk for chunk, _ in chunks]
        self._groups.append(
            [(1, _LIST, (_STRUCT, parts)), (2, _I64, total), (3, _I64, count)],
        )
        self._rows += count

    def close(self) -> None:
        schema: list[list[Field]] = [[(4, _BINARY, "schema"), (5, _I32, len(self._columns))]]
        for name, kind in self._columns:
            column: list[Field] = [(1, _I32, kind), (3, _I32, _REQUIRED), (4, _BINARY, name)]
            schema.append([*column, (6, _I32, _UTF8)] if kind == _BYTE_ARRAY else column)
        footer = _struct(
            [
                (1, _I32, 1),
                (2, _LIST, (_STRUCT, schema)),
                (3, _I64, self._rows),
                (4, _LIST, (_STRUCT, self._groups)),
                (6, _BINARY, "mosaic-rl"),
            ]
        )
        self._write(footer)
        self._write(struct.pack("<I", len(footer)) + _MAGIC)

    def _write_chunk(self, name: str, kind: int, values: Sequence[Any]) -> tuple[list[Field], int]:
        """Write one column as one page; return its description and its size before compression."""
        data = _plain(kind, values)
        packed = zstandard.compress(data)
        page: list[Field] = [(1, _I32, len(values)), (2, _I32, _PLAIN)]
        header = _struct(
            [
                (1, _I32, _DATA_PAGE),
                (2, _I32, len(data)),
                (3, _I32, len(packed)),
                (5, _STRUCT, [*page, (3, _I32, _RLE), (4, _I32, _RLE)]),
            ]
        )
        start = self._offset
        self._write(header)
        self._write(packed)
        meta: list[Field] = [
            (1, _I32, kind),
            (2, _LIST, (_I32, [_PLAIN])),
            (3, _LIST, (_BINARY, [name])),
            (4, _I32, _ZSTD),
            (5, _I64, len(values)),
            (6, _I64, len(header) + len(data)),
            (7, _I64, len(header) + len(packed)),
            (9, _I64, start),
        ]
        return [(2, _I64, start), (3, _STRUCT, meta)], len(header) + len(data)

    def _write(self, data: bytes) -> None:
        self._file.write(data)
        self._offset += len(data)


def _plain(kind: int, values: Sequence[Any]) -> bytes:
    if kind == _INT64:
        return struct.pack(f"<{len(values)}q", *values)
    if kind == _DOUBLE:
        return struct.pack(f"<{len(values)}d", *values)
    texts = [value.encode() for value in values]
    return b"".join(struct.pack("<I", len(text)) + text for text in texts)


def _struct(fields: Sequence[Field]) -> bytes:
    """Return a struct in the compact protocol; its fields come in the order of their numbers."""
    parts = []
    last = 0
    for number, kind, value in fields:
        parts.append(bytes([(number - last) << 4 | kind]) + _value(kind, value))
        last = number
    return b"".join(parts) + b"\0"


def _value(kind: int, value: Any) -> bytes:
    if kind in (_I32, _I64):
        return _varint(value << 1 if value >= 0 else (~value << 1) | 1)
    if kind == _BINARY:
        text: bytes = value.encode()
        return _varint(len(text)) + text
    if kind == _STRUCT:
        return _struct(value)
    item_kind, items = value
    short = len(items) < 15
    head = bytes([len(items) << 4 | item_kind]) if short else bytes([0xF0 | item_kind])
    size = b"" if short else _varint(len(items))
    return head + size + b"".join(_value(item_kind, item) for item in items)


def _varint(number: int) -> bytes:
    parts = bytearray()
    while number > 0x7F:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    parts.append(number)
    return bytes(parts)
