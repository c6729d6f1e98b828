"""The texts over the picture, as the contract has them."""

from __future__ import annotations

from mosaic.fastlane.frame import FrameMetrics
from mosaic.fastlane.status import Account, LaneStatus, Notice, ViewerInfo

_WHY_NO_FRAME = {
    "off": "live frames are off",
    "starting": "starting",
    "no_renderer": "no renderer",
    "ended": "the run has ended",
}


def connection(notice: Notice) -> str:
    """Return the first line: connected, or why there is no frame."""
    name = "Fast lane (Eval)" if notice.is_evaluation else "Fast lane"
    if notice.status == "live":
        return f"{name}: connected"
    why = _WHY_NO_FRAME[notice.status]
    return f"{name}: {why} ({notice.reason})" if notice.reason else f"{name}: {why}"


def evaluation(batch: int, episodes: int, avg: float, low: float, high: float) -> str:
    """Return the line of an evaluation's last batch."""
    return f"eval batch {batch} | episodes={episodes} avg={avg:.1f} min={low:.1f} max={high:.1f}"


def metrics(figures: FrameMetrics) -> str:
    """Return the line of the figures that came with a frame."""
    return (
        f"reward {figures.last_reward:.2f} | return {figures.rolling_return:.1f} | "
        f"{figures.step_rate_hz:,.0f} steps/s | episode {figures.episode:,} step {figures.step:,}"
    )


def rate(account: Account, viewers: ViewerInfo) -> str:
    """Return the rate reached, what limits it, and what it costs of what it may cost."""
    spent = account.cpu_s / account.run_cpu_s if account.run_cpu_s > 0 else 0.0
    return (
        f"{account.rate_hz:.1f} frames/s, limited by {account.limited_by} | "
        f"{spent:.1%} of the run's time, {viewers.budget:.0%} allowed"
    )


def lines(status: LaneStatus, figures: FrameMetrics | None) -> list[str]:
    """Return all that is shown over a picture."""
    shown = [connection(status.notice)]
    if status.notice.evaluation:
        shown.append(status.notice.evaluation)
    if figures is not None:
        shown.append(metrics(figures))
    return [*shown, rate(status.account, status.viewers)]
