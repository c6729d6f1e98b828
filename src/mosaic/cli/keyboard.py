"""Keys of a terminal, one by one."""

from __future__ import annotations

import os
import select
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager

_ARROWS = {"A": "up", "B": "down", "C": "right", "D": "left"}
_ESCAPE = "\x1b"
_READ_BYTES = 32


@contextmanager
def single_keys() -> Iterator[None]:
    """Let keys be read as they are pressed, unseen."""
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    tty.setcbreak(descriptor)
    try:
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def read_keys(timeout_s: float) -> list[str]:
    """Return the keys pressed within the time; arrows by their names."""
    descriptor = sys.stdin.fileno()
    if not select.select([descriptor], [], [], timeout_s)[0]:
        return []
    return list(split_keys(os.read(descriptor, _READ_BYTES).decode(errors="ignore")))


def split_keys(text: str) -> Iterator[str]:
    """Cut what a terminal sent into keys."""
    at = 0
    while at < len(text):
        if text[at] == _ESCAPE and text[at + 1 : at + 2] in ("[", "O"):
            name = _ARROWS.get(text[at + 2 : at + 3])
            if name is not None:
                yield name
            at += 3
        else:
            yield text[at]
            at += 1
