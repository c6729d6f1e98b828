"""What an evaluation of a worker of one process writes after every batch."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from typing import Any

from mosaic.contracts.files import write_json_whole
from mosaic.workers.solo.recorder import RunRecorder


class EvaluationReport:
    """`eval_summary.json`, metrics `eval/*` and a heartbeat, batch by batch."""

    def __init__(self, recorder: RunRecorder) -> None:
        self._recorder = recorder
        self._history: list[dict[str, Any]] = []
        self._episodes = 0

    def batch(self, returns: Sequence[float], lengths: Sequence[int], duration_s: float) -> None:
        """Report one batch; its returns are of its episodes, in their order."""
        recorder = self._recorder
        for value, length in zip(returns, lengths, strict=True):
            self._episodes += 1
            recorder.metrics(
                self._episodes,
                {"eval/episodic_return": value, "eval/episodic_length": float(length)},
            )
        summary = {
            "batch_index": len(self._history) + 1,
            "episodes": len(returns),
            "avg_return": statistics.fmean(returns),
            "min_return": min(returns),
            "max_return": max(returns),
            "median_return": statistics.median(returns),
            "std_return": statistics.pstdev(returns),
            "duration_sec": duration_s,
            "updated_at": time.time(),
        }
        write_json_whole(
            recorder.paths.evaluation_summary, {**summary, "history": list(self._history)}
        )
        self._history.append(summary)
        names = ("avg_return", "min_return", "max_return", "median_return", "std_return")
        batch = {f"eval/{name}": float(summary[name]) for name in names}
        recorder.metrics(len(self._history), batch)
        recorder.final["eval/episodic_return"] = summary["avg_return"]
        recorder.write_manifest()
        recorder.heartbeat(evaluation=summary)
