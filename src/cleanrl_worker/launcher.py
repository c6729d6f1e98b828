"""The algorithm process: `python -m cleanrl_worker.launcher NAME [flags]`.

Runs one algorithm in the working directory, alone or under a worker.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from cleanrl_worker.channel import Channel
from mosaic.contracts.errors import EXIT_CONFIG, EXIT_OK, EXIT_TERMINATED, MosaicError
from mosaic.contracts.paths import run_name
from mosaic.workers.processes import die_with_parent

if TYPE_CHECKING:
    from cleanrl_worker.evaluation import EvaluatedEpisode
    from cleanrl_worker.policies import Policy
    from cleanrl_worker.preparation import Prepared
    from cleanrl_worker.ranks.group import Group
    from cleanrl_worker.recording import Run
    from cleanrl_worker.wandb_sink import WandbSink

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
        return _reject(channel, error)
    return _train(prepared, arguments, channel)


def _reject(channel: Channel, error: MosaicError) -> int:
    channel.send("rejected", code=error.code, message=error.one_line())
    print(error.one_line(), file=sys.stderr)
    return error.exit_code


def _report_summary(channel: Channel, summary: dict[str, Any]) -> None:
    if channel.is_open:
        channel.send("summary", **summary)
    else:
        print(json.dumps(summary, indent=2))


def _train(prepared: Prepared, arguments: Sequence[str], channel: Channel) -> int:
    name = prepared.options.exp_name or prepared.recipe.name
    model_dir = Path("runs") / run_name(
        prepared.env.id, name, prepared.options.seed, int(time.time())
    )
    model_dir.mkdir(parents=True, exist_ok=True)
    run = _open_run(prepared, channel, model_dir)
    _stop_on_signal(run)
    try:
        with contextlib.closing(run):
            if prepared.teacher is not None:
                _train_teacher(run, prepared, model_dir / "teacher", channel)
            with _group(prepared, run, arguments, channel, model_dir) as run.group:
                prepared.algorithm.train(
                    run, prepared.config, prepared.envs, prepared.agent, prepared.device
                )
                speed = run.steps_per_second
                if not run.should_stop:
                    run.finish(prepared.envs)
            prepared.envs.close()
            if prepared.options.save_model and not run.should_stop:
                path = model_dir / f"{name}.cleanrl_model"
                returns = _save_and_evaluate(run, prepared, path, channel)
                if prepared.options.upload_model and not run.should_stop:
                    _upload(prepared, path, returns, channel)
    except MosaicError as error:
        if not run.has_begun:
            shutil.rmtree(model_dir, ignore_errors=True)
        return _reject(channel, error)
    status = "stopped" if run.should_stop else "completed"
    channel.send("finished", status=status, steps=run.step, steps_per_second=round(speed, 1))
    return EXIT_TERMINATED if run.should_stop else EXIT_OK


def _group(
    prepared: Prepared, run: Run, arguments: Sequence[str], channel: Channel, home: Path
) -> contextlib.AbstractContextManager[Group]:
    """Start the other processes of a run that has several."""
    if prepared.processes == 1:
        return contextlib.nullcontext(run.group)
    from cleanrl_worker.ranks.others import with_others

    def give_up(error: MosaicError) -> None:
        os._exit(_reject(channel, error))

    return with_others(prepared, home, arguments, give_up, lambda: run.should_stop)


def _open_run(prepared: Prepared, channel: Channel, model_dir: Path) -> Run:
    """Open the files of the run: under a worker in its directory, alone beside the model."""
    from cleanrl_worker.cuts import Checkpoints
    from cleanrl_worker.recording import Run
    from cleanrl_worker.replay.saving import SavedReplay
    from cleanrl_worker.sinks import MetricFile, MetricSink

    options = prepared.options
    home = Path() if channel.is_open else model_dir
    sinks: list[MetricSink] = [MetricFile(home / "metrics.jsonl")]
    if options.tensorboard_dir is not None:
        from cleanrl_worker.tensorboard import TensorBoardWriter

        writer = TensorBoardWriter(Path(options.tensorboard_dir or model_dir))
        writer.hyperparameters(prepared.settings())
        sinks.append(writer)
    tracker = _open_wandb(prepared, channel, home) if options.track else None
    if tracker is not None:
        sinks.append(tracker)
    checkpoint = prepared.origin.checkpoint if prepared.origin is not None else None
    assert options.checkpoint_interval is not None, "prepare resolves it"
    checkpoints = Checkpoints(
        home / "checkpoints",
        options.checkpoint_interval,
        options.keep_checkpoints,
        last_step=checkpoint.step if checkpoint is not None else 0,
        replay=SavedReplay(home / "checkpoints", options.checkpoint_replay),
    )
    run = Run(
        total_timesteps=options.total_timesteps,
        seed=options.seed,
        channel=channel,
        sinks=sinks,
        checkpoints=checkpoints,
        description={**prepared.describe(), "run_id": os.environ.get("MOSAIC_RUN_ID")},
        resume_from=checkpoint,
        curriculum=prepared.staging.curriculum,
        on_begin=lambda: _report_start(prepared, channel),
        averaged_episodes=prepared.recipe.averaged_episodes,
        compiled=prepared.compiler,
        teacher=prepared.teacher,
        play=lambda *asked: _play(prepared, *asked),
    )
    if tracker is not None:
        tracker.is_stopping = lambda: run.should_stop
    return run


def _train_teacher(run: Run, prepared: Prepared, folder: Path, channel: Channel) -> None:
    """Train the teacher first, where the settings ask for that, and keep its policy."""
    from cleanrl_worker.teachers import train_teacher

    path = train_teacher(run, prepared, folder)
    if path is not None:
        _note(channel, f"The teacher was saved to {path.as_posix()}")


def _play(
    prepared: Prepared, policy: Policy, episodes: int, should_stop: Callable[[], bool]
) -> Iterator[EvaluatedEpisode]:
    """Play greedy episodes with a policy while the run goes on: the same ones each time."""
    from cleanrl_worker.evaluation import Rules, evaluate
    from cleanrl_worker.evaluation_env import Stage

    stage = Stage(prepared.env)
    rules = Rules(seed=prepared.options.seed)
    yield from evaluate(policy, stage, range(episodes), rules, should_stop=should_stop)
    stage.close()


def _open_wandb(prepared: Prepared, channel: Channel, home: Path) -> WandbSink | None:
    """Start W&B beside the training; where that cannot be, it is said, and training goes on."""
    from cleanrl_worker.wandb_sink import WandbSink

    try:
        return WandbSink(
            home,
            project=prepared.options.wandb_project_name,
            entity=prepared.options.wandb_entity,
            config=prepared.settings(),
            say=lambda text: _note(channel, text),
        )
    except OSError as error:
        _note(channel, f"W&B cannot be started: {error}. The run goes on without it.")
        return None


def _note(channel: Channel, text: str) -> None:
    """Tell the user something that changes nothing."""
    print(text, file=sys.stderr, flush=True)
    channel.send("note", text=text)


def _report_start(prepared: Prepared, channel: Channel) -> None:
    for warning in prepared.warnings:
        print(f"warning: {warning}", file=sys.stderr, flush=True)
    channel.send(
        "prepared",
        device=str(prepared.device),
        backend=prepared.options.env_backend,
        warnings=list(prepared.warnings),
    )
    origin = prepared.origin
    if origin is not None:
        document = origin.checkpoint.document if origin.checkpoint is not None else {}
        channel.send(
            "checkpoint_loaded",
            path=str(origin.path),
            step=document.get("step", 0),
            exact=origin.checkpoint is not None and origin.checkpoint.is_exact,
            weights_only=origin.checkpoint is None,
            parent_run_id=document.get("run_id"),
        )


def _stop_on_signal(run: Run) -> None:
    """Let SIGTERM and SIGINT end the training between two steps."""

    def stop(signum: int, frame: FrameType | None) -> None:
        run.should_stop = True

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)


def _save_and_evaluate(run: Run, prepared: Prepared, path: Path, channel: Channel) -> list[float]:
    """Save the weights, then play ten greedy episodes with them; return their returns."""
    import torch

    from cleanrl_worker.cuts import Stateful
    from cleanrl_worker.envs.normalise import ScaledRewards
    from cleanrl_worker.evaluation import Rules, evaluate
    from cleanrl_worker.evaluation_env import Stage
    from cleanrl_worker.models import save_model

    state = dict(prepared.agent.state_dict())
    if isinstance(prepared.envs, Stateful):
        state |= prepared.envs.state_dict()
    tensors = {key: torch.as_tensor(item) for key, item in state.items()}
    save_model(path, tensors, {**prepared.describe(), "step": run.step})
    channel.send("model_saved", path=path.as_posix())

    policy = prepared.algorithm.policy(prepared.agent, prepared.envs.action_space, prepared.device)
    stage = Stage(prepared.env, normalise=prepared.recipe.normalise)
    if isinstance(prepared.envs, ScaledRewards):
        stage.freeze(prepared.envs.state_dict())
    rules = Rules(seed=prepared.options.seed)
    returns = run.evaluate(
        lambda should_stop: evaluate(
            policy, stage, range(EVALUATION_EPISODES), rules, should_stop=should_stop
        )
    )
    stage.close()
    return returns


def _upload(prepared: Prepared, path: Path, returns: list[float], channel: Channel) -> None:
    """Put the model on the Hugging Face Hub; what goes wrong costs the upload alone."""
    from cleanrl_worker.hub import repository_name, upload_files
    from cleanrl_worker.model_card import model_card

    options, settings = prepared.options, prepared.settings()
    name = path.stem
    card = path.with_name("README.md")
    card.write_text(
        model_card(
            name=name,
            env_id=prepared.env.id,
            seed=options.seed,
            returns=returns,
            settings=settings,
        ),
        encoding="utf-8",
    )
    files = {each.name: each for each in (path, path.with_suffix(".json"), card)}
    repository = repository_name(prepared.env.id, name, options.seed)
    try:
        address = upload_files(repository, options.hf_entity, files, summary=f"Upload {name}")
    except MosaicError as error:
        _note(channel, f"The model was not uploaded: {error.one_line()}")
    else:
        _note(channel, f"The model was uploaded to {address}")


if __name__ == "__main__":
    sys.exit(main())
