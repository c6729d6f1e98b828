"""The toy worker's process. The environment id names what it does."""

import json
import os
import signal
import sys
import time
from pathlib import Path

from mosaic.contracts.events import Event
from mosaic.contracts.paths import VarPaths


def main() -> int:
    config = json.loads(Path(sys.argv[sys.argv.index("--config") + 1]).read_text())
    env_id = config["env_id"]
    if env_id == "Refuse-v0":
        return refuse(config, 2, "num_minibatches=6 does not divide batch_size=512. Use 4 or 8.")
    if env_id == "Missing-v0":
        return refuse(config, 3, "Missing-v0 needs a package. Install 'mosaic-rl[toys]'.")
    if "--dry-run" in sys.argv:
        print(json.dumps(SUMMARY))
        return 0
    return train(config)


SUMMARY = {
    "env": {"id": "Toy-v0", "family": "toy", "observation_space": "Box(4)", "action_space": "2"},
    "agent": {"parameters": 1234, "architecture": "MLP"},
    "device": "cpu",
    "resources": {"memory_mb": 64},
    "warnings": ["Toy-v0 is only a toy."],
}


def emit(config, event, **payload):
    sys.stdout.write(Event.now(event, config["run_id"], payload).to_line())
    sys.stdout.flush()


def refuse(config, code, error):
    if "--dry-run" not in sys.argv:
        emit(config, "run_failed", error=error, error_type="ConfigError", return_code=code)
    print(f"toy-worker: {error}", file=sys.stderr)
    return code


def train(config):
    run = VarPaths.default().run(config["run_id"])
    run.logs.mkdir(parents=True)
    run.stderr_log.write_text("a line of the log\n")
    emit(config, "run_started", algo="toy", env_id=config["env_id"], seed=config["seed"])
    print("toy-worker: WARNING: this is only a toy", file=sys.stderr, flush=True)
    total = config["total_timesteps"]
    for step in range(total // 4, total + 1, total // 4):
        points = {"charts/episodic_return": [[step, float(step)], [step, float("nan")]]}
        values = {"charts/episodic_return": float(step)}
        emit(config, "metric", step=step, values=values, points=points)
    return ENDINGS.get(config["env_id"], complete)(config, run)


def complete(config, run):
    model = run.models / "toy" / "toy.cleanrl_model"
    model.parent.mkdir(parents=True)
    model.write_bytes(b"weights")
    # So that a test sees what reached the worker.
    run.metrics.write_text(os.environ.get("WANDB_API_KEY", "no key"))
    manifest = {
        "seed": config["seed"],
        "artifacts": {"policy": {"path": run.relative(model)}},
        "metrics": {"final": {"eval/episodic_return": 500.0}},
        "resources": {"steps_per_second": 8130.0},
        "padding": "x" * 200_000,  # far beyond a pipe's 64 KiB
    }
    emit(config, "run_completed", status="completed", manifest=manifest)
    return 0


def crash(config, run):
    tail = ["Traceback (most recent call last):", "RuntimeError: boom"]
    emit(config, "run_failed", error="boom", error_type="RuntimeError", stderr_tail=tail)
    return 1


def die(config, run):
    os.kill(os.getpid(), signal.SIGKILL)


def wait_for_interrupt(config, run):
    signals = []
    signal.signal(signal.SIGINT, lambda number, frame: signals.append(number))
    (run.root / "waiting").touch()
    while not signals:
        time.sleep(0.01)
    time.sleep(0.2)  # long enough for a second one to arrive
    emit(config, "run_cancelled", signals=len(signals))
    return 130 if len(signals) == 1 else 99


def ignore_interrupts(config, run):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    (run.root / "waiting").touch()
    time.sleep(60)
    return 0


ENDINGS = {
    "Crash-v0": crash,
    "Killed-v0": die,
    "Slow-v0": wait_for_interrupt,
    "Stubborn-v0": ignore_interrupts,
}

if __name__ == "__main__":
    sys.exit(main())
