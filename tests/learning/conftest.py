"""Where the small games of this folder can be trained on."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

GAMES = Path(__file__).parent


@pytest.fixture
def playing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Allow the games' modules, as an operator does; return where to train."""
    var_dir = tmp_path / "var"
    var_dir.mkdir()
    modules = sorted(path.stem for path in GAMES.glob("*_game.py"))
    allowed = ", ".join(f'"{module}"' for module in modules)
    (var_dir / "mosaic.toml").write_text(f"[allow]\nenv_modules = [{allowed}]\n")
    monkeypatch.setenv("MOSAIC_VAR_DIR", str(var_dir))
    monkeypatch.setenv(
        "PYTHONPATH", os.pathsep.join((str(GAMES), os.environ.get("PYTHONPATH", "")))
    )
    return tmp_path
