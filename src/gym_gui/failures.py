"""What a call to the daemon may raise, as the one line that a page shows."""

from __future__ import annotations

from mosaic.client.faults import DaemonFault
from mosaic.contracts.errors import MosaicError

FAILURES = (MosaicError, DaemonFault)


def failure_line(error: Exception) -> str:
    if isinstance(error, MosaicError):
        return error.one_line()
    return f"The daemon failed: {error}. Its log has the cause: System shows it."
