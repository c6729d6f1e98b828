"""Starting, finding and stopping sweeps; each is a process that outlives whoever asked for it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

from mosaic.contracts.errors import ConfigError, DependencyMissing, NotFound, suggest
from mosaic.contracts.files import make_directory
from mosaic.contracts.identifiers import check_study_name, file_name, new_run_id
from mosaic.contracts.installed import is_installed
from mosaic.contracts.paths import SweepPaths, VarPaths
from mosaic.sweeps.reading import read_study
from mosaic.sweeps.request import SweepRequest


def new_study_name(algo: str, env_id: str) -> str:
    """Return `<algo>-<env>-<time>`, unique and no longer than a name may be."""
    return f"{algo[:20]}-{file_name(env_id).replace('.', '-')[:22]}-{new_run_id()[:10]}"


def start_sweep(paths: VarPaths, request: SweepRequest) -> SweepPaths:
    """Write the request down, and start the process that conducts it."""
    if not is_installed("optuna"):
        raise DependencyMissing(
            "A sweep needs Optuna, which is not installed.", hint="Install 'mosaic-rl[optuna]'."
        )
    own = paths.sweep(request.study)
    if own.root.exists():
        raise ConfigError(
            f"study={request.study!r} is there already.",
            hint=f"'mosaic sweep --resume {request.study}' goes on with it.",
        )
    make_directory(own.root, what="The sweep's directory")
    request.save(own)
    conduct(paths, request.study)
    return own


def conduct(paths: VarPaths, study: str) -> None:
    """Start the process of a sweep that is written down; one that runs already is left alone."""
    own = find_sweep(paths, study)
    if not own.request.is_file():
        raise ConfigError(f"The study {study!r} is another program's: it can be read alone.")
    if is_conducted(own):
        raise ConfigError(f"The sweep {study!r} is under way.")
    with own.log.open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "mosaic.sweeps", study],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=own.root,
            env={**os.environ, "MOSAIC_VAR_DIR": str(paths.root)},
            start_new_session=True,
        )
    threading.Thread(target=process.wait, daemon=True).start()  # reaped, should we live longer
    deadline = time.monotonic() + 10
    while not is_conducted(own) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)


def stop_sweep(paths: VarPaths, study: str) -> bool:
    """Ask a sweep to end its trials and itself; False where it does not run."""
    own = find_sweep(paths, study)
    if not is_conducted(own):
        return False
    with contextlib.suppress(ValueError, ProcessLookupError):
        os.kill(int(own.lock.read_text()), signal.SIGTERM)
    return True


def is_conducted(own: SweepPaths) -> bool:
    """Say whether a process conducts the sweep: it holds the lock for as long as it lives."""
    try:
        handle = os.open(own.lock, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


def find_sweep(paths: VarPaths, study: str) -> SweepPaths:
    """Return the directory of a study, by its name or any unambiguous beginning of it."""
    known = list_sweeps(paths)
    if check_study_name(study) in known:
        return paths.sweep(study)
    matches = [name for name in known if name.startswith(study)]
    if len(matches) == 1:
        return paths.sweep(matches[0])
    if matches:
        raise ConfigError(f"study={study!r} is ambiguous: it begins {', '.join(matches[:5])}.")
    raise NotFound(
        f"There is no study {study!r}.{suggest(study, known)}",
        hint="'mosaic sweep --list' lists them.",
    )


def list_sweeps(paths: VarPaths) -> list[str]:
    """Return the names of all studies, the newest first."""
    with contextlib.suppress(OSError):
        found = [entry for entry in os.scandir(paths.sweeps) if entry.is_dir()]
        found.sort(key=lambda entry: entry.stat().st_mtime, reverse=True)
        return [entry.name for entry in found]
    return []


def adopt_file(paths: VarPaths, file: Path) -> str:
    """Copy a study of another program, such as CleanRL's tuner, to where sweeps are shown."""
    study = read_study(file)
    name = file_name(study.name).replace(".", "-")[:64]
    own = paths.sweep(name)
    if own.root.exists():
        raise ConfigError(f"study={name!r} is there already.")
    make_directory(own.root, what="The sweep's directory")
    with (
        contextlib.closing(sqlite3.connect(f"file:{file.absolute()}?mode=ro", uri=True)) as source,
        contextlib.closing(sqlite3.connect(own.database)) as target,
    ):
        source.backup(target)
    return name
