"""Live frames of a run through shared memory: lossy, newest first, and no reader is waited for.

A run that shows frames has a directory of memory-mapped files: `run`, which says what goes on and
who watches, and one `lane-<k>` for each environment that is shown. Each process that renders writes
lanes of its own; a reader tiles them.
"""
