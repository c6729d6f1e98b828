"""Scripts: shell files whose first lines say what they do, and which may run."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mosaic.contracts.errors import ConfigError, NotAllowed, NotFound
from mosaic.contracts.settings import OperatorSettings

OUR_SCRIPTS = Path(__file__).parents[1] / "scripts"
SUFFIX = ".sh"
HEADER_LINES = 30
# A line of a script's output that begins with this names the phase that begins.
PHASE_MARK = "@phase "

_FIELD = re.compile(r"#\s*@(description|phases|total_timesteps|env_family|author):\s*(.*)")
_SIZE_LIMIT_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Script:
    """What a script says of itself."""

    path: Path
    description: str = ""
    phases: tuple[str, ...] = ()
    total_timesteps: int | None = None
    env_family: str | None = None
    author: str | None = None

    @property
    def name(self) -> str:
        return self.path.stem

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "name": self.name, "path": str(self.path)}


def read_script(path: Path) -> Script:
    """Read the header; a script without one is a script of one phase."""
    if path.suffix != SUFFIX:
        raise ConfigError(f"{str(path)!r} is no script: give a file that ends in {SUFFIX}.")
    try:
        with path.open("rb") as file:
            text = file.read(_SIZE_LIMIT_BYTES).decode("utf-8", errors="replace")
    except OSError as error:
        raise NotFound(f"The script {str(path)!r} cannot be read: {error.strerror}.") from None
    found: dict[str, str] = {}
    for line in text.splitlines()[:HEADER_LINES]:
        match = _FIELD.match(line.strip())
        if match:
            found[match[1]] = match[2].strip()
    phases = tuple(phase.strip() for phase in found.get("phases", "").split(",") if phase.strip())
    return Script(
        path,
        found.get("description", ""),
        phases,
        _steps(path, found.get("total_timesteps")),
        found.get("env_family"),
        found.get("author"),
    )


def _steps(path: Path, text: str | None) -> int | None:
    if not text:
        return None
    try:
        return int(text.replace("_", "").replace(",", ""))
    except ValueError:
        raise ConfigError(
            f"{path.name}: @total_timesteps={text!r} is not allowed: give a whole number."
        ) from None


def check_script(path: Path, settings: OperatorSettings) -> Path:
    """Return the script's real path; one that the operator has not allowed is refused."""
    real = path.expanduser().resolve()
    if not real.is_file():
        raise NotFound(f"The script {str(path)!r} does not exist.")
    if not real.is_relative_to(OUR_SCRIPTS.resolve()) and not settings.allows_script(real):
        raise NotAllowed(
            f"The script {str(real)!r} is not under a directory that the operator allowed.",
            hint="Add its directory to scripts under [allow] in var/mosaic.toml.",
        )
    return real


def find_scripts(settings: OperatorSettings) -> list[Script]:
    """Return the scripts that may run: ours, then the operator's; unreadable ones are left out."""
    scripts = []
    for directory in (OUR_SCRIPTS, *settings.scripts):
        for path in sorted(directory.glob(f"*{SUFFIX}")):
            try:
                scripts.append(read_script(path))
            except (ConfigError, NotFound):
                continue
    return scripts


def find_script(name: str, settings: OperatorSettings) -> Script:
    """Return a script by its path, or by the name of one that may run."""
    path = Path(name).expanduser()
    if path.suffix != SUFFIX and len(path.parts) == 1:
        known = {script.name: script for script in find_scripts(settings)}
        if name not in known:
            raise NotFound(f"No script is called {name!r}.", hint=f"There are: {', '.join(known)}.")
        return known[name]
    return read_script(check_script(path, settings))
