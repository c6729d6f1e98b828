"""`mosaic figure`: runs as curves for a paper, seeds brought together."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mosaic.cli.arguments import Parser
from mosaic.client.connecting import connect
from mosaic.contracts.errors import EXIT_OK, ConfigError
from mosaic.contracts.metrics import find_metric
from mosaic.contracts.paths import VarPaths
from mosaic.contracts.worker_config import extract_worker_config

if TYPE_CHECKING:
    from mosaic.client.blocking import Client
    from mosaic.figures.aggregate import Points
    from mosaic.proto.trainer_pb2 import RunDetails

_TAG = "charts/episodic_return"
_MOST_POINTS = 20_000


def run(words: Sequence[str]) -> int:
    parser = Parser(
        prog="mosaic figure",
        description="Draw runs for a paper. Runs that differ in nothing but the seed are one "
        "curve: their interquartile mean, with a 95 % bootstrap interval.",
    )
    parser.add_argument("runs", metavar="RUN", nargs="+", help="a run, by any unambiguous prefix")
    parser.add_argument("-o", "--output", metavar="FILE", default="figure.svg",
                        help="the file, .svg, .pdf or .png (figure.svg)")  # fmt: skip
    parser.add_argument("--metric", metavar="TAG", default=_TAG, help=f"what is drawn ({_TAG})")
    parser.add_argument("--title", default="", help="a line above the figure")
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse(words)
    from mosaic.figures.aggregate import aggregate
    from mosaic.figures.drawing import check_file, draw

    path = Path(given.output)
    check_file(path)
    with connect(VarPaths.default()) as client:
        groups = _groups(client, given.runs)
        curves = {
            name: aggregate([_points(client, run_id, given.metric) for run_id in run_ids])
            for name, run_ids in groups.items()
        }
    curves = {name: curve for name, curve in curves.items() if curve.seeds}
    if not curves:
        raise ConfigError(f"None of these runs has the metric {given.metric!r}.")
    draw(curves, path, title=given.title, **_labels(given.metric))
    report = {
        name: {"seeds": curve.seeds, "last": round(float(curve.middle[-1]), 4),
               "low": round(float(curve.low[-1]), 4), "high": round(float(curve.high[-1]), 4)}
        for name, curve in curves.items()
    }  # fmt: skip
    if given.json:
        print(json.dumps({"file": str(path), "curves": report}))
        return EXIT_OK
    for name, end in report.items():
        print(f"{name}: {end['last']:g} [{end['low']:g}, {end['high']:g}], {end['seeds']} seeds")
    print(f"written to {path}")
    return EXIT_OK


def _labels(tag: str) -> dict[str, str]:
    metric = find_metric(tag)
    axis = "step" if metric is None else metric.axis
    unit = f" ({metric.unit})" if metric is not None and metric.unit else ""
    return {
        "x_label": "environment steps" if axis == "step" else axis,
        "y_label": tag.rpartition("/")[2].replace("_", " ") + unit,
    }


def _groups(client: Client, prefixes: Sequence[str]) -> dict[str, list[str]]:
    """Return the runs of each curve; what their settings differ in tells the curves apart."""
    found: dict[str, list[str]] = {}
    params: dict[str, dict[str, Any]] = {}
    labels: dict[str, str] = {}
    for prefix in dict.fromkeys(prefixes):
        details = client.get_run(prefix)
        own = _settings(details)
        key = json.dumps(own, sort_keys=True)
        found.setdefault(key, []).append(details.run.run_id)
        params[key] = own["params"]
        labels[key] = f"{own['algo']}, {own['env_id']}"
    names = {name for own in params.values() for name in own}
    differing = [
        name for name in sorted(names) if len({str(own.get(name)) for own in params.values()}) > 1
    ]
    named: dict[str, list[str]] = {}
    for key, run_ids in found.items():
        apart = [f"{name} {params[key][name]}" for name in differing if name in params[key]]
        label = ", ".join([labels[key], *apart])
        while label in named:
            label += "*"
        named[label] = run_ids
    return named


def _settings(details: RunDetails) -> dict[str, Any]:
    config = extract_worker_config(json.loads(details.config_json))
    extras = config.get("extras") or {}
    params = dict(extras.get("algo_params") or {})
    return {"algo": details.run.algo, "env_id": details.run.env_id, "params": params,
            "steps": config.get("total_timesteps")}  # fmt: skip


def _points(client: Client, run_id: str, tag: str) -> Points:
    import numpy as np

    from mosaic.figures.aggregate import Points

    steps: list[float] = []
    values: list[float] = []
    for update in client.metrics(run_id, [tag], max_points=_MOST_POINTS):
        for series in update.series:
            middles = zip(series.first_step, series.last_step, strict=True)
            steps += [(first + last) / 2 for first, last in middles]
            values += series.mean
    array, known = np.asarray(steps), np.asarray(values)
    kept = np.isfinite(known)
    return Points(array[kept], known[kept])
