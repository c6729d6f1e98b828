"""Write the requirements files from pyproject.toml: run `python scripts/make_requirements.py`.

They are for those who install without extras: `pip install -r requirements.txt`, then
`pip install --no-deps -e .`. A test holds the files equal to what this writes.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent
MADE = "# Made from pyproject.toml by scripts/make_requirements.py: change that, then run it."
# What trains, and what the GUI and the trainer do without.
_TRAINING = ("torch",)
_WORKER_EXTRAS = ("box2d", "mujoco", "atari", "minigrid", "video")


def files() -> dict[str, str]:
    """Return every requirements file by its path."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    training = [line for line in project["dependencies"] if Requirement(line).name in _TRAINING]
    light = [line for line in project["dependencies"] if line not in training]
    return {
        "requirements.txt": _file(
            "The GUI and the trainer, without torch.",
            ["-r requirements/base.txt", *_extras(project, "gui", "trainer")],
        ),
        "requirements/base.txt": _file(
            "What every process of MOSAIC needs.", ["-c ../constraints.txt", *light]
        ),
        "requirements/cleanrl_worker.txt": _file(
            "The CleanRL worker, with the environments of the default set.",
            ["-r base.txt", *training, *_extras(project, *_WORKER_EXTRAS)],
        ),
        "requirements/spade_bdi_worker.txt": _file(
            "The SPADE BDI worker.", ["-r base.txt", *_extras(project, "spade")]
        ),
    }


def main() -> int:
    for name, text in files().items():
        (ROOT / name).parent.mkdir(exist_ok=True)
        (ROOT / name).write_text(text, encoding="utf-8")
        print(name)
    return 0


def _extras(project: dict[str, Any], *names: str) -> list[str]:
    groups = project["optional-dependencies"]
    return list(dict.fromkeys(line for name in names for line in groups[name]))


def _file(what: str, lines: Iterable[str]) -> str:
    return "\n".join([f"# {what}", MADE, *lines]) + "\n"


if __name__ == "__main__":
    sys.exit(main())
