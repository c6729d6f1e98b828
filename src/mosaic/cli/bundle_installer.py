"""Make a virtual environment and fill it: with uv where there is one, else with pip.

uv does not read pip's settings, so it is told them; what was set for uv itself stands.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

from mosaic.contracts.errors import DependencyMissing

_TIMEOUT_S = 3600
_PROBE_TIMEOUT_S = 60
_LINES_SHOWN = 3


class Installer:
    """Builds one environment at `root`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._uv = find_uv()
        self._settings = _pip_settings()

    @property
    def name(self) -> str:
        return "uv" if self._uv else "pip"

    @property
    def python(self) -> Path:
        return self.root / "bin" / "python"

    def make(self) -> None:
        own = [sys.executable, "-m", "venv", "--without-pip", str(self.root)]
        # Relocatable: the environment is renamed once it is whole.
        uv = [self._uv or "", "venv", "--quiet", "--relocatable", "--python", sys.executable]
        self._run([*uv, str(self.root)] if self._uv else own, "The environment cannot be made")

    def install(self, requirements: Sequence[str], constraints: Path) -> None:
        """Install everything in one resolve, and the torch build that this environment has."""
        torch, options = self._torch()
        words = [*options, "--constraint", str(constraints), torch, *requirements]
        self._run([*self._command(), *words], "Installing failed")

    def unpack(self, requirement: str, folder: Path) -> None:
        """Bring one package, without what it needs, into a folder of its own."""
        command = self._command()
        self._run([*command, "--no-deps", "--target", str(folder), requirement], "Fetching failed")

    def _command(self) -> list[str]:
        if self._uv:
            # pip writes bytecode by itself; without it every start of a run would compile torch.
            uv = [self._uv, "pip", "install", "--quiet", "--compile-bytecode"]
            return [*uv, "--python", str(self.python)]
        return [sys.executable, "-m", "pip", "--python", str(self.python), "install", "--quiet"]

    def _torch(self) -> tuple[str, list[str]]:
        """Return the requirement and the options that lead to the build installed here.

        The ordinary build of one version satisfies the pin as well, and brings gigabytes of CUDA.
        """
        version = metadata.version("torch")
        if not version.endswith("+cpu") or self._has_wheel(version):
            return f"torch=={version}", []
        if self._uv:
            return f"torch=={version}", ["--torch-backend=cpu"]
        raise DependencyMissing(
            f"No CPU build of torch {version} can be reached with pip.",
            hint="Install uv: pip install uv",
        )

    def _has_wheel(self, version: str) -> bool:
        folders = [Path(re.sub("^file://", "", each)) for each in self._link_folders()]
        names = (f"torch-{version}-", f"torch-{version.replace('+', '%2B')}-")
        return any(file.name.startswith(names) for each in folders for file in each.glob("torch-*"))

    def _link_folders(self) -> list[str]:
        given = os.environ.get("UV_FIND_LINKS", "") + " " + self._settings.get("find-links", "")
        return list(dict.fromkeys(entry for entry in re.split(r"[\s,]+", given) if entry))

    def _environment(self) -> dict[str, str]:
        known = {
            "UV_DEFAULT_INDEX": self._settings.get("index-url"),
            "SSL_CERT_FILE": self._settings.get("cert"),
            "UV_FIND_LINKS": ",".join(self._link_folders()),
        }
        return {**{name: value for name, value in known.items() if value}, **os.environ}

    def _run(self, command: Sequence[str], what: str) -> None:
        try:
            done = subprocess.run(
                command,
                env=self._environment(),
                capture_output=True,
                text=True,
                timeout=_TIMEOUT_S,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise DependencyMissing(f"{what}: {error}.") from None
        if done.returncode:
            lines = (done.stderr.strip() or done.stdout.strip() or "no message").splitlines()
            raise DependencyMissing(f"{what}: {' / '.join(lines[-_LINES_SHOWN:])}")


def find_uv() -> str | None:
    own = Path(sys.executable).parent / "uv"
    return str(own) if own.is_file() else shutil.which("uv")


def _pip_settings() -> dict[str, str]:
    """Read pip's settings: of its files, then of the environment."""
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pip", "config", "list"],
            capture_output=True,
            text=True,
            timeout=_PROBE_TIMEOUT_S,
        )
    except (OSError, subprocess.TimeoutExpired):
        return {}
    pairs = re.findall(r"^\S*?\.([\w-]+)=(.+)$", done.stdout, re.MULTILINE)
    return {name: str(ast.literal_eval(value)) for name, value in reversed(pairs)}
