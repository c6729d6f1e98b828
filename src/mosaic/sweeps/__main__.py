"""`python -m mosaic.sweeps STUDY`: conduct a sweep to its end."""

from __future__ import annotations

import fcntl
import os
import signal
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from mosaic.contracts.errors import EXIT_FAILED, EXIT_OK, ConfigError, MosaicError
from mosaic.contracts.paths import VarPaths
from mosaic.sweeps.asking import open_study
from mosaic.sweeps.conducting import Conductor, Verdict
from mosaic.sweeps.daemon import PatientDaemon
from mosaic.sweeps.request import load_request
from mosaic.workers.discovery import load_catalogue

if TYPE_CHECKING:
    import optuna

# With so many failures and nothing else, the next trial would fail as well.
_HOPELESS = 5


def main(arguments: Sequence[str]) -> int:
    paths = VarPaths.default()
    try:
        return _Sweep(paths, arguments[0]).run()
    except MosaicError as error:
        print(f"mosaic sweep: {error.one_line()}", file=sys.stderr)
        return error.exit_code


class _Sweep:
    def __init__(self, paths: VarPaths, name: str) -> None:
        self._own = paths.sweep(name)
        self._lock_file = _take_lock(self._own.lock, name)
        self._request = load_request(self._own)
        self._entry = load_catalogue().find(self._request.algo)
        self._study = open_study(self._request, self._own, self._entry.algorithm)
        self._stop = threading.Event()
        self._asking = threading.Lock()
        self._daemon = PatientDaemon(paths)
        self._conductor = Conductor(
            self._request, self._own, self._entry, self._daemon, self._stop, _say
        )

    def run(self) -> int:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self._stop.set())
        self._adopted = [_living(self._study, each) for each in self._left_running()]
        with ThreadPoolExecutor(self._request.parallel) as pool:
            lanes = [pool.submit(self._lane) for _ in range(self._request.parallel)]
            while not all(lane.done() for lane in lanes):
                time.sleep(0.1)  # where signals arrive
            for lane in lanes:
                lane.result()
        self._daemon.close()
        return EXIT_FAILED if self._is_hopeless() else EXIT_OK

    def _left_running(self) -> list[Any]:
        """Return the trials that an earlier process of this sweep left behind."""
        from optuna.trial import TrialState

        return self._study.get_trials(deepcopy=False, states=(TrialState.RUNNING,))

    def _lane(self) -> None:
        """Conduct one trial after the other."""
        while not self._stop.is_set():
            with self._asking:
                adopted = self._adopted.pop(0) if self._adopted else None
                trial = adopted if adopted is not None else self._next()
            if trial is None:
                return
            verdict = (
                self._continue(trial) if adopted is not None else self._conductor.conduct(trial)
            )
            self._tell(trial, verdict)

    def _next(self) -> optuna.Trial | None:
        from optuna.trial import TrialState

        waiting = TrialState.WAITING
        asked = [
            trial for trial in self._study.get_trials(deepcopy=False) if trial.state != waiting
        ]
        if len(asked) >= self._request.trials or self._is_hopeless():
            return None
        return self._study.ask()

    def _continue(self, trial: optuna.Trial) -> Verdict:
        run_ids = trial.user_attrs.get("run_ids") or []
        if not run_ids:  # a run that was submitted before the end is found by its key, not doubled
            return self._conductor.conduct(trial)
        budget = self._daemon.run(run_ids[0]).total_timesteps
        return self._conductor.follow(trial, run_ids, budget)

    def _tell(self, trial: optuna.Trial, verdict: Verdict) -> None:
        from optuna.trial import TrialState

        if verdict.reason:
            trial.set_user_attr("reason", verdict.reason)
        state = getattr(TrialState, verdict.state)
        with self._asking:
            self._study.tell(trial, verdict.value, state=state)
        told = verdict.reason if verdict.value is None else f"{verdict.value:.4g}"
        _say(f"trial {trial.number}: {verdict.state.lower()}: {told}")

    def _is_hopeless(self) -> bool:
        trials = self._study.get_trials(deepcopy=False)
        failed = [trial for trial in trials if trial.state.name == "FAIL"]
        good = [trial for trial in trials if trial.state.name in ("COMPLETE", "PRUNED")]
        return len(failed) >= _HOPELESS and not good


def _living(study: optuna.Study, frozen: Any) -> optuna.Trial:
    """Return a trial that can be reported to, from one that was left running."""
    from optuna.trial import Trial

    return Trial(study, frozen._trial_id)


def _take_lock(path: Any, name: str) -> Any:
    """Hold the lock for as long as this process lives; its file holds the pid."""
    file = path.open("a+")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise ConfigError(f"The sweep {name} is being conducted already.") from None
    file.truncate(0)
    file.write(str(os.getpid()))
    file.flush()
    return file


def _say(text: str) -> None:
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    print(f"{stamp} {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
