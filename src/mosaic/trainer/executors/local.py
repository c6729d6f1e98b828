"""Runs on this machine: each a proxy in a session of its own, that outlives the daemon."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

from mosaic.contracts.files import make_directory, write_json_whole
from mosaic.contracts.paths import RunPaths, VarPaths
from mosaic.trainer.executors.base import Launch, ProxyState
from mosaic.workers.process_tree import ProcessIdentity, find_run_processes, identify, kill_all
from mosaic.workers.proxy.state import read_state

_PROXY_MODULE = "mosaic.workers.proxy"
# A process that hangs in the kernel cannot be killed; the daemon does not wait for it for ever.
_KILL_TIMEOUT_S = 10.0

# Of another run, where the daemon was started from inside one. The run id would make the proxy a
# process of that run; the target would bind it to one port, where daemon.json names the present.
_NOT_INHERITED = ("MOSAIC_RUN_ID", "MOSAIC_RUN_TOKEN", "MOSAIC_GRPC_TARGET")


_NOBODY = ProcessIdentity(0, 0)


class LocalExecutor:
    """Knows a proxy by what it wrote of itself, and until then as its own child."""

    def __init__(self, paths: VarPaths) -> None:
        self._paths = paths
        self._children: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, launch: Launch) -> None:
        proxy = self._paths.proxy(launch.run_id)
        make_directory(proxy.root, what="The proxy's directory")
        make_directory(self.files(launch.run_id, launch.mode).root, what="The run directory")
        write_json_whole(proxy.launch, self._launch_document(launch))
        with proxy.log.open("ab") as log:
            child = subprocess.Popen(
                # -P: the working directory holds data, and nothing is imported from it.
                [sys.executable, "-P", "-m", _PROXY_MODULE, str(proxy.launch)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self._paths.root,
                env=self._proxy_environment(launch),
                start_new_session=True,
            )
        self._children[launch.run_id] = child
        self._reap(launch.run_id, child)

    def adopt(self, launch: Launch, worker: ProcessIdentity) -> None:
        proxy = self._paths.proxy(launch.run_id)
        make_directory(proxy.root, what="The proxy's directory")
        # As an earlier proxy would have left it, which is gone.
        ProxyState(_NOBODY, "running", worker).write(proxy.state)
        self.start(launch)

    def is_alive(self, run_id: str) -> bool:
        child = self._children.get(run_id)
        if child is not None and child.poll() is None:
            return True
        state = self.worker_state(run_id)
        return state is not None and state.proxy.is_alive()

    def signal(self, run_id: str, number: signal.Signals) -> bool:
        state = self.worker_state(run_id)
        return state is not None and state.worker is not None and state.worker.send(number)

    def files(self, run_id: str, mode: str) -> RunPaths:
        return self._paths.run(run_id, mode)

    def worker_state(self, run_id: str) -> ProxyState | None:
        return read_state(self._paths.proxy(run_id).state)

    def kill(self, run_id: str) -> int:
        return kill_all(lambda: self._processes(run_id), timeout_s=_KILL_TIMEOUT_S)

    def _processes(self, run_id: str) -> list[ProcessIdentity]:
        """Return every process of the run, the proxy last: orphans are found as its children."""
        state = self.worker_state(run_id)
        child = self._children.get(run_id)
        proxies = {
            identify(child.pid) if child is not None and child.poll() is None else None,
            state.proxy if state is not None and state.proxy.is_alive() else None,
        }
        living = [proxy for proxy in proxies if proxy is not None]
        worker = None if state is None else state.worker
        reapers = [proxy.pid for proxy in living]
        return [*find_run_processes(run_id, worker, reapers=reapers), *living]

    def _launch_document(self, launch: Launch) -> dict[str, object]:
        files = self.files(launch.run_id, launch.mode)
        # Two learners that each take every core slow each other down tenfold.
        threads = {} if "OMP_NUM_THREADS" in os.environ else {"OMP_NUM_THREADS": "1"}
        return {
            "run_id": launch.run_id,
            "run_dir": str(files.root),
            "events": str(files.events),
            "command": list(launch.command),
            "environment": {**threads, **launch.environment},
            "registration": dict(launch.registration),
            "var_dir": str(self._paths.root),
        }

    def _proxy_environment(self, launch: Launch) -> dict[str, str]:
        kept = {name: text for name, text in os.environ.items() if name not in _NOT_INHERITED}
        return {**kept, "MOSAIC_VAR_DIR": str(self._paths.root), **launch.secrets}

    def _reap(self, run_id: str, child: subprocess.Popen[bytes]) -> None:
        """Wait for the child beside, so that it never stays behind as a zombie."""

        def wait() -> None:
            child.wait()
            if self._children.get(run_id) is child:
                del self._children[run_id]

        threading.Thread(target=wait, name=f"proxy-{run_id}", daemon=True).start()
