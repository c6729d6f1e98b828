"""The worker's end of the channel: bytes to messages, whatever the bytes are."""

from __future__ import annotations

import json
import logging
import os
import select
from typing import Any

from cleanrl_worker.channel import KINDS

_LOG = logging.getLogger(__name__)

_READ_BYTES = 1 << 20
# A message is a few hundred bytes; a dry run's summary some thousand. Past this a line is noise,
# and keeping it would let a broken algorithm take the worker's memory.
MAX_LINE_BYTES = 64 << 20


class LineSplitter:
    """Cut a stream into lines, however the reads fall."""

    def __init__(self, limit: int = MAX_LINE_BYTES) -> None:
        self._parts: list[bytes] = []
        self._size = 0
        self._limit = limit
        self._is_skipping = False

    def feed(self, data: bytes) -> list[bytes]:
        *ends, rest = data.split(b"\n")
        lines = [line for end in ends if (line := self._finish(end)) is not None]
        self._keep(rest)
        return lines

    def _finish(self, end: bytes) -> bytes | None:
        self._keep(end)
        line = None if self._is_skipping else b"".join(self._parts)
        self._parts, self._size, self._is_skipping = [], 0, False
        return line

    def _keep(self, part: bytes) -> None:
        self._size += len(part)
        if self._size > self._limit and not self._is_skipping:
            _LOG.warning("the algorithm sent a line of over %d bytes; skipped", self._limit)
            self._parts, self._is_skipping = [], True
        if part and not self._is_skipping:
            self._parts.append(part)


def parse_message(line: bytes) -> dict[str, Any] | None:
    """Return the message, or None, with a word on stderr, for a line that is none."""
    if not line.strip():
        return None
    try:
        message = json.loads(line)
    except ValueError:
        message = None
    if not isinstance(message, dict) or message.get("kind") not in KINDS:
        _LOG.warning("the algorithm sent a line that is no message: %r", line[:200])
        return None
    if message["kind"] == "metric" and not _read_metric(message):
        _LOG.warning("the algorithm sent a metric that is none: %r", line[:200])
        return None
    return message


def _read_metric(message: dict[str, Any]) -> bool:
    """Put the numbers of a metric in place; NaN and infinities came as text."""
    try:
        message["step"] = int(message["step"])
        message["values"] = {tag: float(value) for tag, value in message["values"].items()}
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        return False
    return True


class ChannelReader:
    """Read messages from the pipe as they come. Owns the descriptor."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._splitter = LineSplitter()
        self.is_at_end = False

    def read(self, timeout_s: float) -> list[dict[str, Any]]:
        """Return the messages that arrived within the timeout, perhaps none."""
        if self.is_at_end:
            return []
        ready, _, _ = select.select([self._descriptor], [], [], timeout_s)
        if not ready:
            return []
        data = os.read(self._descriptor, _READ_BYTES)
        self.is_at_end = not data
        # Without a newline at its end the last line was cut off by a crash: it is dropped.
        lines = self._splitter.feed(data)
        return [message for line in lines if (message := parse_message(line)) is not None]

    def read_rest(self) -> list[dict[str, Any]]:
        """Return what a process that has ended left in the pipe.

        Its own children may hold the pipe open: the end of the data counts, not the end of file.
        """
        messages: list[dict[str, Any]] = []
        while select.select([self._descriptor], [], [], 0)[0] and not self.is_at_end:
            messages += self.read(0)
        return messages

    def close(self) -> None:
        os.close(self._descriptor)
