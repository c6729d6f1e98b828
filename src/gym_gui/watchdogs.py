"""What goes wrong in training, seen in the curves: pure functions over the metrics of a run.

Each takes what it needs and returns what it found, or None. They are made to be quiet: a warning
that is wrong twice is not read the third time.
"""

from __future__ import annotations

import bisect
import math
import statistics
from collections.abc import Mapping
from dataclasses import dataclass

from gym_gui.axes import EPISODES_TAG, SPEED_TAG, time_ruler
from gym_gui.curves import Curve, mean_of

ENTROPY_TAG = "losses/entropy"
KL_TAG = "losses/approx_kl"

# Fewer points than this say nothing yet.
_FEWEST_POINTS = 20
_FEWEST_EPISODES = 50
# Of what it was at the start: a policy that is this sure explores no more.
_COLLAPSED_ENTROPY = 0.02
# CleanRL's target_kl, where it is used, is 0.01 to 0.02; ten times that is another policy.
_LARGE_KL = 0.2
_SLOW = 0.5
_LITTLE_DISK_BYTES = 2 << 30
_LAST_PART = 0.25


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that somebody should look at."""

    kind: str
    title: str
    detail: str
    advice: str
    tag: str = ""  # the metric that shows it


def look(
    curves: Mapping[str, Curve], *, first_step: int = 0, disk_free_bytes: int | None = None
) -> list[Finding]:
    """Return everything that is wrong, the worst first. `first_step` is where the run began."""
    found = [
        find_nan(curves),
        find_full_disk(disk_free_bytes),
        find_collapse(curves.get(ENTROPY_TAG, Curve())),
        find_large_kl(curves.get(KL_TAG, Curve())),
        find_frozen_return(curves.get(EPISODES_TAG, Curve()), first_step=first_step),
        find_slowdown(curves.get(SPEED_TAG, Curve()), first_step=first_step),
    ]
    return [each for each in found if each is not None]


def find_nan(curves: Mapping[str, Curve]) -> Finding | None:
    """Look for values that are no numbers, in losses first."""
    for tag in sorted(curves, key=lambda tag: (not tag.startswith("losses/"), tag)):
        curve = curves[tag]
        places = [step for step, bad in zip(curve.first, curve.nonfinite, strict=True) if bad]
        # explained_variance is 0/0 where all returns are equal, which is no fault.
        if places and tag != "losses/explained_variance":
            return Finding(
                "nan",
                "NaN",
                f"{tag} is NaN or infinite at step {places[0]:,}, {curve.total_nonfinite:,} times "
                "in all.",
                "The weights are lost from there on. Resume from a checkpoint before it with a "
                "smaller learning rate, and look at the scale of observations and rewards.",
                tag,
            )
    return None


def find_collapse(entropy: Curve) -> Finding | None:
    """Look for a policy that became certain: its entropy fell to nothing, and stays there."""
    if len(entropy) < _FEWEST_POINTS:
        return None
    start = max(
        (value for value in entropy.mean[:_FEWEST_POINTS] if math.isfinite(value)), default=0
    )
    recent = [value for value in entropy.mean[-5:] if math.isfinite(value)]
    # A Gaussian's entropy may be negative, and then its ratio means nothing.
    if start <= 0 or not recent or min(recent) < 0 or max(recent) > _COLLAPSED_ENTROPY * start:
        return None
    return Finding(
        "entropy",
        "Entropy collapsed",
        f"The policy's entropy is {recent[-1]:.3g} nats, from {start:.3g} at the start.",
        "It explores no more. Where the return is not good yet: a larger ent_coef or a smaller "
        "learning rate.",
        ENTROPY_TAG,
    )


def find_large_kl(kl: Curve) -> Finding | None:
    """Look for updates that change the policy too much."""
    recent = [value for value in kl.mean[-5:] if math.isfinite(value)]
    if len(kl) < 5 or not recent or statistics.median(recent) < _LARGE_KL:
        return None
    return Finding(
        "kl",
        "KL too large",
        f"An update moves the policy by {statistics.median(recent):.3g} (approx_kl); "
        "0.02 is usual.",
        "A smaller learning rate, fewer update_epochs, or a target_kl.",
        KL_TAG,
    )


def find_frozen_return(returns: Curve, *, first_step: int = 0) -> Finding | None:
    """Look for a return that does not move: never did, or stands below what was reached.

    One that stands at its best has been solved, and a continuation may begin solved.
    """
    behind = bisect.bisect_left(returns.last, _from_last_part(returns))
    recent = returns.slice(behind)
    if recent.total_count < _FEWEST_EPISODES or _spread(recent) > 1e-9:
        return None
    value = mean_of(recent)
    has_moved = _spread(returns) > 1e-9
    best = returns.best()
    is_at_best = best is not None and value >= best - 1e-9
    if (has_moved and is_at_best) or (not has_moved and first_step > 0):
        return None
    return Finding(
        "frozen",
        "Return frozen",
        f"Each of the last {recent.total_count:,} episodes returned {value:.4g}.",
        "The agent does the same in every episode, or never meets a reward: look at it live, and "
        "at exploration and the reward.",
        EPISODES_TAG,
    )


def find_slowdown(speeds: Curve, *, first_step: int = 0) -> Finding | None:
    """Look for training that has become slower; the metric itself is a mean since the start."""
    if len(speeds) < _FEWEST_POINTS:
        return None
    ruler = time_ruler([(first_step, speeds)])
    if ruler is None:
        return None
    turn, end = _from_last_part(speeds), speeds.last[-1]
    start = speeds.last[0]  # the first update compiles and warms up
    spans = [(start, turn), (turn, end)]
    times = [ruler.at(high) - ruler.at(low) for low, high in spans]
    if min(times) < 10.0:
        return None
    before, now = ((high - low) / time for (low, high), time in zip(spans, times, strict=True))
    if now > _SLOW * before:
        return None
    return Finding(
        "slow",
        "Slower than before",
        f"{now:,.0f} steps/s lately, {before:,.0f} before.",
        "Another run or program may take the processors: System shows it. Longer episodes or a "
        "growing replay buffer do it too.",
        SPEED_TAG,
    )


def find_full_disk(free_bytes: int | None) -> Finding | None:
    if free_bytes is None or free_bytes >= _LITTLE_DISK_BYTES:
        return None
    return Finding(
        "disk",
        "Disk nearly full",
        f"{free_bytes / 2**30:.1f} GB are left where the runs are kept.",
        "Checkpoints and videos will be missed first: empty the bin, or delete old runs.",
    )


def _from_last_part(curve: Curve) -> int:
    """Return the step at which the last quarter begins."""
    if not len(curve):
        return 0
    return round(curve.last[-1] - _LAST_PART * (curve.last[-1] - curve.first[0]))


def _spread(curve: Curve) -> float:
    low = [value for value in curve.low if math.isfinite(value)]
    high = [value for value in curve.high if math.isfinite(value)]
    return max(high) - min(low) if low and high else 0.0
