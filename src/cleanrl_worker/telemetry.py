"""The metric bridge, under the name that this package has for it."""

from __future__ import annotations

from mosaic.workers.metric_bridge import EVALUATION_RETURN, MetricBridge

__all__ = ["EVALUATION_RETURN", "MetricBridge"]
