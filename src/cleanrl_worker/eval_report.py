"""What an evaluation leaves: metrics of every episode and every batch, and `eval_summary.json`."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cleanrl_worker.channel import Channel
from cleanrl_worker.evaluation import EvaluatedEpisode
from cleanrl_worker.filming import video_name
from cleanrl_worker.lanes import show_batch
from cleanrl_worker.sinks import MetricSink
from mosaic.contracts.errors import StorageError
from mosaic.contracts.evaluation_statistics import confidence_interval, highlights
from mosaic.contracts.events import finite
from mosaic.contracts.files import write_json_whole
from mosaic.contracts.metrics import find_metric
from mosaic.contracts.paths import RunPaths

# The summary is written anew after every batch; older batches are in metrics.jsonl.
HISTORY_LIMIT = 1_000


def summarise_batch(
    index: int, episodes: Sequence[EvaluatedEpisode], *, duration_s: float, gamma: float | None
) -> dict[str, Any]:
    """Return the numbers of one batch."""
    returns = np.array([episode.total_reward for episode in episodes], np.float64)
    lengths = [episode.length for episode in episodes]
    low, high = confidence_interval([episode.total_reward for episode in episodes])
    summary = {
        "batch_index": index,
        "episodes": len(episodes),
        "avg_return": float(returns.mean()),
        "min_return": float(returns.min()),
        "max_return": float(returns.max()),
        "median_return": float(np.median(returns)),
        "std_return": float(returns.std()),
        "ci95_return": [low, high],
        "avg_length": float(np.mean(lengths)),
        "truncated_episodes": sum(episode.is_truncated for episode in episodes),
        "cut_episodes": sum(episode.is_cut for episode in episodes),
        "duration_sec": round(duration_s, 3),
        "updated_at": time.time(),
    }
    if gamma is not None:
        discounted = [episode.discounted_return for episode in episodes]
        summary["avg_discounted_return"] = float(np.mean(discounted))
    return summary


class EvaluationReport:
    """Record an evaluation. After a batch its points, the summary, then word to the worker."""

    def __init__(
        self,
        home: Path,
        channel: Channel,
        sinks: Iterable[MetricSink],
        *,
        about: Mapping[str, Any],
        gamma: float | None,
    ) -> None:
        self._path = RunPaths(home).evaluation_summary
        self._channel = channel
        self._sinks = tuple(sinks)
        self._about = dict(about)
        self._gamma = gamma
        self._batches: list[dict[str, Any]] = []

    def episode(self, episode: EvaluatedEpisode) -> None:
        values = {
            "eval/episodic_return": episode.total_reward,
            "eval/episodic_length": float(episode.length),
        }
        if self._gamma is not None:
            values["eval/discounted_return"] = episode.discounted_return
        self._log(episode.number, values)

    def batch(self, index: int, episodes: Sequence[EvaluatedEpisode], duration_s: float) -> None:
        summary = summarise_batch(index, episodes, duration_s=duration_s, gamma=self._gamma)
        tags = {f"eval/{name}": value for name, value in summary.items()}
        self._log(index, {tag: float(tags[tag]) for tag in tags if find_metric(tag)})
        for sink in self._sinks:
            sink.flush()
        results = [_result(episode, self._gamma) for episode in episodes]
        document = {
            **summary,
            **self._about,
            "highlights": {name: self._filmed(each) for name, each in highlights(results).items()},
            "results": results,
            "history": self._batches[-HISTORY_LIMIT:],
        }
        try:
            write_json_whole(self._path, finite(document))
        except OSError as error:
            raise StorageError(f"{self._path.name} cannot be written: {error.strerror}.") from None
        self._batches = [*self._batches[-HISTORY_LIMIT:], summary]
        self._channel.send("evaluation_batch", **summary)
        show_batch(summary)
        print(_line(summary), flush=True)

    def _filmed(self, result: Mapping[str, Any]) -> dict[str, Any]:
        """Return an episode with its video, where it was filmed."""
        home = self._path.parent
        found = next(home.glob(f"videos/*/{video_name(result['episode'])}"), None)
        return {**result, "video": None if found is None else found.relative_to(home).as_posix()}

    def close(self) -> None:
        for sink in self._sinks:
            sink.close()

    def _log(self, x: int, values: Mapping[str, float]) -> None:
        assert all(find_metric(tag) for tag in values), f"not in the metric catalogue: {values}"
        self._channel.send("metric", step=x, values=values)
        for sink in self._sinks:
            sink.scalars(x, values)


def _result(episode: EvaluatedEpisode, gamma: float | None) -> dict[str, Any]:
    result = {
        "episode": episode.number,
        "seed": episode.seed,
        "return": episode.total_reward,
        "length": episode.length,
        "truncated": episode.is_truncated,
        "cut": episode.is_cut,
    }
    return result if gamma is None else {**result, "discounted_return": episode.discounted_return}


def _line(summary: Mapping[str, Any]) -> str:
    return (
        f"eval batch {summary['batch_index']} | episodes={summary['episodes']} "
        f"avg={summary['avg_return']:.1f} min={summary['min_return']:.1f} "
        f"max={summary['max_return']:.1f}"
    )
