"""Tokens: the daemon's for its users, and one of its own for every run."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import secrets
from pathlib import Path

from mosaic.contracts.errors import ConfigError

METADATA_KEY = "authorization"
RUN_TOKEN_VARIABLE = "MOSAIC_RUN_TOKEN"

_BYTES = 32


def run_token(daemon_token: str, run_id: str) -> str:
    """Return the token of a run's worker, which opens that run alone.

    It derives from the daemon's, so that a restarted daemon knows those of the runs it finds.
    """
    return hmac.new(daemon_token.encode(), f"run:{run_id}".encode(), hashlib.sha256).hexdigest()


def as_metadata(token: str) -> tuple[str, str]:
    return (METADATA_KEY, f"Bearer {token}")


def read_token(path: Path) -> str | None:
    """Return the token of the file; None where there is no file."""
    try:
        token = path.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"The token {str(path)!r} cannot be read: {error}.") from None
    return token or None


def make_token(path: Path) -> str:
    """Return the token of the file, which is made where there is none; nobody else can read it."""
    token = read_token(path)
    if token is not None:
        os.chmod(path, 0o600)
        return token
    token = secrets.token_hex(_BYTES)
    aside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with contextlib.suppress(FileNotFoundError):
        aside.unlink()
    handle = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="ascii") as file:
        file.write(token + "\n")
        file.flush()
        os.fsync(file.fileno())
    os.replace(aside, path)
    return token
