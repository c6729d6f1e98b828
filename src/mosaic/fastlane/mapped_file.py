"""Files in memory that several processes map."""

from __future__ import annotations

import errno
import mmap
import os
from pathlib import Path
from typing import NamedTuple

from mosaic.contracts.errors import StorageError

PAGE_BYTES = 4096


class Identity(NamedTuple):
    """Tells a file from the one that took its name."""

    device: int
    inode: int


class MappedFile:
    """A whole file in memory: the bytes, and the same bytes as words of 8 bytes.

    A word is stored and loaded at once; anything longer may be seen half written.
    """

    def __init__(self, descriptor: int) -> None:
        """Map an open file, which is closed."""
        try:
            found = os.fstat(descriptor)
            self.identity = Identity(found.st_dev, found.st_ino)
            self.memory = mmap.mmap(descriptor, found.st_size)
        finally:
            os.close(descriptor)
        self.size_bytes = found.st_size
        self.view = memoryview(self.memory)
        self.words = self.view.cast("Q")

    def close(self) -> None:
        self.words.release()
        self.view.release()
        self.memory.close()


def create_file(path: Path, size_bytes: int) -> MappedFile:
    """Make a new file of zeros, readable to this user alone, with its memory set aside.

    Memory that is only promised ends the process with SIGBUS when there is none left.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            _set_aside(descriptor, size_bytes)
        except OSError:
            os.close(descriptor)
            path.unlink()
            raise
    except OSError as error:
        raise _refusal(path, size_bytes, error) from error
    return MappedFile(descriptor)


def open_file(path: Path) -> MappedFile | None:
    """Map an existing file for reading and writing; None where there is none to map."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
    except (FileNotFoundError, NotADirectoryError):
        return None
    if os.fstat(descriptor).st_size < PAGE_BYTES:
        os.close(descriptor)
        return None
    return MappedFile(descriptor)


def identify(path: Path) -> Identity | None:
    try:
        found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return Identity(found.st_dev, found.st_ino)


def round_up(size_bytes: int) -> int:
    return -(-size_bytes // PAGE_BYTES) * PAGE_BYTES


def _set_aside(descriptor: int, size_bytes: int) -> None:
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, 0, size_bytes)
    else:
        os.ftruncate(descriptor, size_bytes)


def _refusal(path: Path, size_bytes: int, error: OSError) -> StorageError:
    if error.errno == errno.ENOSPC:
        return StorageError(
            f"{path.parent} has no room for {size_bytes:,} bytes of live frames.",
            hint="Make it larger, lower fastlane_max_dim, or set MOSAIC_FASTLANE_DIR.",
        )
    return StorageError(f"{path} cannot hold live frames: {error.strerror}.")
