"""The metric catalogue: every tag that a run may log, explained once."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Metric:
    tag: str
    help: str
    unit: str | None = None
    wall_clock: bool = False  # depends on the machine's speed: not the same for the same seed
    axis: str = "step"  # what its x means: environment steps, or the episode's index


_METRICS = (
    Metric("charts/episodic_return", "Undiscounted sum of rewards of a finished training episode."),
    Metric("charts/episodic_length", "Length of a finished training episode.", unit="steps"),
    Metric("charts/learning_rate", "Learning rate of the optimiser at this update."),
    Metric(
        "charts/SPS", "Environment steps a second since the start.", unit="1/s", wall_clock=True
    ),
    Metric("losses/value_loss", "Mean squared error of the value function, halved."),
    Metric("losses/policy_loss", "PPO's clipped surrogate objective, negated."),
    Metric("losses/entropy", "Mean entropy of the policy.", unit="nats"),
    Metric("losses/old_approx_kl", "Estimate of KL(old, new) as the mean of -log ratio."),
    Metric("losses/approx_kl", "Estimate of KL(old, new) as the mean of ratio - 1 - log ratio."),
    Metric("losses/clipfrac", "Share of samples whose probability ratio was clipped."),
    Metric(
        "losses/explained_variance",
        "1 - Var(return - value) / Var(return): 1 is perfect, 0 no better than the mean.",
    ),
    Metric("time/environment", "Share of the time spent stepping environments.", wall_clock=True),
    Metric("time/acting", "Share of the time spent choosing actions.", wall_clock=True),
    Metric("time/learning", "Share of the time spent on updates.", wall_clock=True),
    Metric("eval/episodic_return", "Return of an evaluation episode.", axis="episode"),
    Metric(
        "eval/episodic_length", "Length of an evaluation episode.", unit="steps", axis="episode"
    ),
)

CATALOGUE: dict[str, Metric] = {metric.tag: metric for metric in _METRICS}

_PLAYER = re.compile(r"-player\d+$")


def find_metric(tag: str) -> Metric | None:
    """Return the entry of a tag; one of several players shares the entry of the plain tag."""
    return CATALOGUE.get(_PLAYER.sub("", tag))
