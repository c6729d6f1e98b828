"""Failures that are nobody's input. They need no gRPC, so that catching one does not import it."""

from __future__ import annotations


class DaemonFault(RuntimeError):
    """An error inside the daemon, whose log has the traceback."""
