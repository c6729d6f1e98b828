"""Schedules of learning rates, exploration, and of what happens every so many steps."""

from __future__ import annotations

LOG_INTERVAL = 100  # environment steps between two logs of an off-policy algorithm, as in CleanRL


def linear_to_zero(start: float, done: int, total: int) -> float:
    """Return `start` before anything is done, falling linearly to zero when all is done."""
    return start * (1.0 - done / total)


def linear(start: float, end: float, duration: float, step: int) -> float:
    """Return a value that goes linearly from start to end over the duration, and stays there."""
    if step >= duration:
        return end
    return start + (end - start) * step / duration


def times_due(every: int, before: int, after: int) -> int:
    """Return how many multiples of `every` lie beyond `before` and up to `after`.

    Several environments move the step by more than one at a time; what is due every n steps is
    then due as often as single steps would have made it.
    """
    return after // every - before // every


def is_log_due(step: int, train_frequency: int, num_envs: int) -> bool:
    """Say whether the update at this step is the first since a multiple of the log interval.

    It depends on the step alone, so that a resumed run logs where an uninterrupted one does.
    """
    return times_due(LOG_INTERVAL, step - max(train_frequency, num_envs), step) > 0
