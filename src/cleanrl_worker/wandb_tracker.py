"""`python -m cleanrl_worker.wandb_tracker`: W&B in a process of its own.

What is logged comes as JSON lines on stdin, the first of which says what the run is; what there is
to tell goes as JSON lines to stdout. It ends when its input does. Whatever W&B does, the training
is another process, and never waits for this one.
"""

from __future__ import annotations

import contextlib
import json
import netrc
import os
import signal
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

# From the end of the input until this process ends, whether W&B has finished or not.
FINISH_S = 20.0
_NICE = 10
_REACH_S = 5.0
_INIT_S = 20.0
_BASE_URL = "https://api.wandb.ai"


def main() -> int:
    # The end of the input is what ends it: a signal to the group reaches the training as well.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    with contextlib.suppress(OSError):
        os.nice(_NICE)  # and with it W&B's own processes: on a busy machine the training goes first
    lines = _read()
    about = next(lines, None)
    if about is None:
        return 0
    run = _start(about)
    if run is None:
        for _ in lines:  # the other side must not stand before a full pipe
            pass
        _tell(finished=True)
        return 0
    for row in lines:
        run.log(row)
    threading.Thread(target=_end_late, daemon=True).start()
    run.finish()
    _tell(finished=True)
    return 0


def _read() -> Iterator[dict[str, Any]]:
    for line in sys.stdin.buffer:
        with contextlib.suppress(ValueError):
            yield json.loads(line)


def _tell(**fields: Any) -> None:
    with contextlib.suppress(OSError):
        sys.stdout.write(json.dumps(fields) + "\n")
        sys.stdout.flush()


def _end_late() -> None:
    time.sleep(FINISH_S)
    os._exit(1)


def _start(about: dict[str, Any]) -> Any:
    """Start W&B's run: online, or offline where that cannot be; None where neither can."""
    mode, why = _mode(about["mode"])
    if mode == "disabled":
        return None
    problem = _prepare(Path(about["dir"]))
    if problem:
        _tell(note=f"W&B cannot write: {problem}. The run goes on without it.")
        return None
    for attempt in dict.fromkeys((mode, "offline")):
        try:
            run = _init(about, attempt)
        except Exception as error:  # noqa: BLE001 - W&B's faults are told, and are not the run's
            why = " ".join(f"{type(error).__name__}: {error}".split())[:300]
            _give_up_attempt()
            continue
        if attempt == "offline" and about["mode"] != "offline":
            _tell(note=f"W&B is offline: {why}. {_sync_hint(about)}")
        _tell(mode=attempt, url=None if attempt == "offline" else run.url)
        return run
    _tell(note=f"W&B cannot be started: {why}. The run goes on without it.")
    return None


def _mode(asked: str | None) -> tuple[str, str]:
    """Return the mode that is possible, and why it is another than was asked for."""
    if asked in ("offline", "disabled"):
        return asked, ""
    base = os.environ.get("WANDB_BASE_URL") or _BASE_URL
    host = urlsplit(base).hostname or base
    if not os.environ.get("WANDB_API_KEY") and not _has_login(host):
        return "offline", "there is no API key (WANDB_API_KEY) and no earlier login"
    if not _is_reachable(base):
        return "offline", f"{host} cannot be reached"
    return "online", ""


def _has_login(host: str) -> bool:
    """Say whether an earlier `wandb login` left a key in ~/.netrc, where we write nothing."""
    path = os.environ.get("NETRC") or str(Path.home() / ".netrc")
    try:
        return netrc.netrc(path).authenticators(host) is not None
    except (OSError, netrc.NetrcParseError):
        return False


def _is_reachable(base: str) -> bool:
    request = urllib.request.Request(f"{base.rstrip('/')}/healthz", method="HEAD")
    own = {each: os.environ.get(f"WANDB_{each.upper()}_PROXY") for each in ("http", "https")}
    proxies = urllib.request.getproxies() | {key: value for key, value in own.items() if value}
    opener = urllib.request.build_opener(urllib.request.ProxyHandler(proxies))
    try:
        with opener.open(request, timeout=_REACH_S):
            return True
    except urllib.error.HTTPError:
        return True  # it answered
    except (OSError, ValueError):
        return False


def _prepare(directory: Path) -> str:
    """Make W&B's folder; return what is wrong with it. W&B itself would go elsewhere silently."""
    folder = directory / "wandb"
    try:
        folder.mkdir(exist_ok=True)
        probe = folder / f".probe-{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        return f"{folder.name}: {error.strerror}"
    # Its caches and logs are files of the run, and go with it.
    for name in ("WANDB_CACHE_DIR", "WANDB_DATA_DIR"):
        os.environ.setdefault(name, str(folder / "cache"))
    return ""


def _init(about: dict[str, Any], mode: Any) -> Any:
    import wandb

    run = wandb.init(
        dir=about["dir"],
        id=about["id"],
        project=about["project"],
        entity=about["entity"],
        name=about["name"],
        config=about["config"],
        mode=mode,
        settings=wandb.Settings(
            console="off",
            disable_git=True,
            save_code=False,
            silent=True,
            init_timeout=_INIT_S,
            x_stats_pid=os.getppid(),
        ),
    )
    run.define_metric("*", step_metric="global_step")
    run.define_metric("eval/*", step_metric="episode")
    return run


def _give_up_attempt() -> None:
    """End W&B's service, which takes the run's id for one that is in use."""
    with contextlib.suppress(Exception):  # the attempt has failed, whatever this says
        import wandb

        wandb.teardown()


def _sync_hint(about: dict[str, Any]) -> str:
    return f"'wandb sync {about['dir']}/wandb/offline-run-*' sends it."


if __name__ == "__main__":
    sys.exit(main())
