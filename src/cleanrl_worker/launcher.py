"""The algorithm process: `python -m cleanrl_worker.launcher NAME [flags]`.

Runs one algorithm in the working directory, alone or under a worker.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from cleanrl_worker.channel import Channel
from mosaic.contracts.errors import EXIT_CONFIG, EXIT_OK, EXIT_TERMINATED, MosaicError
from mosaic.contracts.paths import run_name
from mosaic.workers.processes import die_with_parent

if TYPE_CHECKING:
    from cleanrl_worker.preparation import Prepared
    from cleanrl_worker.recording import Run

EVALUATION_EPISODES = 10


def main(arguments: Sequence[str] | None = None) -> int:
    arguments = sys.argv[1:] if arguments is None else arguments
    channel = Channel.from_environment()
    if channel.is_open:
        die_with_parent()
    if not arguments or arguments[0].startswith("-"):
        print("usage: python -m cleanrl_worker.launcher NAME [--flag=value ...]", file=sys.stderr)
        return EXIT_CONFIG
    try:
        from cleanrl_worker.preparation import prepare, summarise

        prepared = prepare(arguments[0], arguments[1:])
        if prepared.options.dry_run:
            _report_summary(channel, summarise(prepared))
            return EXIT_OK
    except MosaicError as error:
        channel.send("rejected", code=error.code, message=error.one_line())
        print(error.one_line(), file=sys.stderr)
        return error.exit_code
    return _train(prepared, channel)


def _report_summary(channel: Channel, summary: dict[str, Any]) -> None:
    if channel.is_open:
        channel.send("summary", **summary)
    else:
        print(json.dumps(summary, indent=2))


def _train(prepared: Prepared, channel: Channel) -> int:
    from cleanrl_worker.recording import MetricFile, Run

    options = prepared.options
    name = options.exp_name or prepared.recipe.name
    model_dir = Path("runs") / run_name(prepared.env.id, name, options.seed, int(time.time()))
    model_dir.mkdir(parents=True, exist_ok=True)
    run = Run(
        total_timesteps=options.total_timesteps,
        seed=options.seed,
        channel=channel,
        metrics=MetricFile(
            Path("metrics.jsonl") if channel.is_open else model_dir / "metrics.jsonl"
        ),
        tensorboard=_open_tensorboard(prepared, model_dir),
    )
    _stop_on_signal(run)
    channel.send(
        "prepared",
        device=str(prepared.device),
        backend=type(prepared.envs).__name__,
        warnings=list(prepared.warnings),
    )
    try:
        prepared.algorithm.train(
            run, prepared.config, prepared.envs, prepared.agent, prepared.device
        )
        speed = run.steps_per_second
        prepared.envs.close()
        if not run.should_stop and options.save_model:
            _save_and_evaluate(run, prepared, model_dir / f"{name}.cleanrl_model", channel)
    finally:
        run.close()
    status = "stopped" if run.should_stop else "completed"
    channel.send("finished", status=status, steps=run.step, steps_per_second=round(speed, 1))
    return EXIT_TERMINATED if run.should_stop else EXIT_OK


def _open_tensorboard(prepared: Prepared, model_dir: Path) -> Any:
    directory = prepared.options.tensorboard_dir
    if directory is None:
        return None
    from cleanrl_worker.tensorboard import TensorBoardWriter

    writer = TensorBoardWriter(Path(directory) if directory else model_dir)
    writer.hyperparameters(prepared.settings())
    return writer


def _stop_on_signal(run: Run) -> None:
    """Let SIGTERM and SIGINT end the training between two steps."""

    def stop(signum: int, frame: FrameType | None) -> None:
        run.should_stop = True

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)


def _save_and_evaluate(run: Run, prepared: Prepared, path: Path, channel: Channel) -> None:
    """Save the weights, then play ten greedy episodes with them."""
    from cleanrl_worker.envs.build import build_envs
    from cleanrl_worker.evaluation import evaluate
    from cleanrl_worker.models import save_model

    save_model(path, prepared.agent, _describe_model(run, prepared))
    channel.send("model_saved", path=path.as_posix())
    envs = build_envs(prepared.env, 1)
    policy = prepared.algorithm.policy(prepared.agent, prepared.device)
    episodes = evaluate(
        policy,
        envs,
        episodes=EVALUATION_EPISODES,
        seed=prepared.options.seed,
        should_stop=lambda: run.should_stop,
    )
    for episode in episodes:
        values = {
            "eval/episodic_return": episode.total_reward,
            "eval/episodic_length": episode.length,
        }
        run.log(values, x=episode.number)
    envs.close()


def _describe_model(run: Run, prepared: Prepared) -> dict[str, Any]:
    return {
        "algo": prepared.recipe.name,
        "env_id": prepared.env.id,
        "seed": prepared.options.seed,
        "step": run.step,
        "architecture": type(prepared.agent).__name__,
        "settings": prepared.settings(),
    }


if __name__ == "__main__":
    sys.exit(main())
