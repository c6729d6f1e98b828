"""The ticker's process. The environment id names what it does."""

import json
import os
import signal
import sys
import time
from pathlib import Path

from mosaic.contracts.events import Event
from mosaic.contracts.telemetry import telemetry_line
from mosaic.contracts.worker_config import extract_worker_config


def main():
    document = json.loads(Path(sys.argv[sys.argv.index("--config") + 1]).read_text())
    config = extract_worker_config(document)
    if "--dry-run" in sys.argv:
        if config["env_id"] == "Refuse-v0":
            print("ticker: env_id='Refuse-v0' is refused.", file=sys.stderr)
            return 2
        print(json.dumps({"config": config}))
        return 0
    return BEHAVIOURS[config["env_id"]](config)


def emit(config, event, **payload):
    line = Event.now(event, config["run_id"], payload).to_line().encode()
    while line:
        line = line[os.write(1, line) :]


def tick(config):
    """Count to the end, slowly enough to be killed in between."""
    stopped = []
    signal.signal(signal.SIGTERM, lambda number, frame: stopped.append(number))
    rate = config["extras"].get("algo_params", {}).get("rate", 100.0)
    emit(config, "run_started", seed=config.get("seed"), total_timesteps=config["total_timesteps"])
    begin = time.monotonic()
    for step in range(1, config["total_timesteps"] + 1):
        time.sleep(max(0.0, begin + step / rate - time.monotonic()))
        points = {"charts/episodic_return": [[step, float(step)]]}
        values = {"charts/episodic_return": float(step), "charts/SPS": rate}
        emit(config, "metric", step=step, values=values, points=points)
        if step % 10 == 0:
            emit(config, "checkpoint_saved", step=step)
        if stopped:
            emit(config, "run_cancelled", signal="SIGTERM")
            return 143
    emit(config, "run_completed", status="completed", manifest={})
    return 0


def score(config):
    """Return what the parameter says, for three seconds."""
    stopped = []
    signal.signal(signal.SIGTERM, lambda number, frame: stopped.append(number))
    value = config["extras"]["algo_params"]["rate"] + config["seed"]
    emit(config, "run_started", seed=config.get("seed"), total_timesteps=config["total_timesteps"])
    for step in range(10, config["total_timesteps"] + 1, 10):
        time.sleep(30 / config["total_timesteps"])
        points = {"charts/episodic_return": [[step, value]]}
        emit(config, "metric", step=step, values={}, points=points)
        if stopped:
            emit(config, "run_cancelled", signal="SIGTERM")
            return 143
    emit(config, "run_completed", status="completed", manifest={})
    return 0


def flood(config):
    """Send as many events a second as asked for, numbered, in bursts of a hundredth of a second."""
    rate = int(config["extras"]["algo_params"]["rate"])
    emit(config, "run_started")
    form = Event.now("metric", config["run_id"], {"step": 0, "values": {}, "points": {}}).to_line()
    head = form.partition('"payload"')[0].encode()
    begin, sent, total = time.monotonic(), 0, config["total_timesteps"]
    while sent < total:
        due = min(total, int((time.monotonic() - begin) * rate))
        lines = [
            b'%b"payload":{"step":%d,"values":{"a":%d},"points":{"a":[[%d,%d]]}}}\n'
            % (head, step, step, step, step)
            for step in range(sent + 1, due + 1)
        ]
        data = b"".join(lines)
        while data:
            data = data[os.write(1, data) :]
        sent = due
        time.sleep(0.01)
    emit(config, "run_completed", status="completed", manifest={})
    return 0


def walk(config):
    """Walk in episodes of ten steps, as many steps a second as asked for."""
    rate = int(config["extras"]["algo_params"]["rate"])
    emit(config, "run_started")
    begin, sent, total = time.monotonic(), 0, config["total_timesteps"]
    while sent < total:
        due = min(total, int((time.monotonic() - begin) * rate))
        data = "".join(walked(config["run_id"], number) for number in range(sent, due)).encode()
        while data:
            data = data[os.write(1, data) :]
        sent = due
        time.sleep(0.01)
    emit(config, "run_completed", status="completed", manifest={})
    return 0


def walked(run_id, number):
    """Return the line of a step, and behind the last one of an episode that of the episode."""
    episode, step = divmod(number, 10)
    form = {"run_id": run_id, "worker_id": "ticker", "agent_id": "walker", "episode_index": episode}
    ends = {"terminated": step == 9, "truncated": False, "timestamp": 0.5}
    line = telemetry_line(
        {
            "type": "step",
            **form,
            "step_index": step,
            "episode_seed": episode,
            "action": number % 4,
            "observation": number,
            "reward": float(step == 9),
            **ends,
            "info": {},
        }
    )
    if step == 9:
        made = {"total_reward": float(episode % 7), "steps": 10, "seed": episode, "metadata": {}}
        line += telemetry_line({"type": "episode", **form, **made, **ends})
    return line


def fail(config):
    emit(config, "run_started")
    print("the last line", file=sys.stderr)
    emit(config, "run_failed", error="boom", error_type="RuntimeError", return_code=1)
    return 1


def hang(config):
    """Say nothing, and ignore requests to stop."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(600)


def babble(config):
    """Print everything but clean lines."""
    emit(config, "run_started")
    os.write(1, b'Hello from a library\n\xff\xfe\x00 bytes\n[1, 2]\n{"event": "unknown"}\n\n')
    os.write(1, b"x" * 10_000_000 + b"\n")
    one = Event.now("metric", config["run_id"], {"step": 1, "values": {}, "points": {}}).to_line()
    two = Event.now("metric", config["run_id"], {"step": 2, "values": {}, "points": {}}).to_line()
    os.write(1, (one + two).encode())
    payload = {"step": 3, "values": {}, "points": {"big": [[i, float(i)] for i in range(400_000)]}}
    emit(config, "metric", **payload)
    done = Event.now("run_completed", config["run_id"], {"status": "completed"}).to_line()
    os.write(1, done.rstrip("\n").encode())
    return 0


def be_stubborn(config):
    """Leave processes that ignore SIGTERM, in sessions of their own, forked twice, unnamed."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for _ in range(3):
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                clean = {"PATH": os.environ.get("PATH", "")}
                code = "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(600)"
                os.execve(sys.executable, [sys.executable, "-S", "-c", code], clean)
            os._exit(0)
        os.wait()
    emit(config, "run_started")
    while True:
        emit(config, "heartbeat", step=0)
        time.sleep(0.2)


BEHAVIOURS = {
    "Tick-v0": tick,
    "Score-v0": score,
    "Flood-v0": flood,
    "Walk-v0": walk,
    "Fail-v0": fail,
    "Hang-v0": hang,
    "Babble-v0": babble,
    "Stubborn-v0": be_stubborn,
}

if __name__ == "__main__":
    sys.exit(main())
