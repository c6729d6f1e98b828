"""A checkout of our own, and a bundle with this environment's packages that its scripts run in."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from mosaic.contracts.bundles import CLEANRL_PROFILE, DOCUMENT
from mosaic.contracts.files import write_json_whole

CHECKOUT = Path(__file__).parent / "checkout"


def make_bundle(root: Path) -> None:
    """Make a real virtual environment, which sees the packages of this one."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(root)], check=True)
    [packages] = root.glob("lib/python3*/site-packages")
    (packages / "shared.pth").write_text(sysconfig.get_path("purelib") + "\n")
    document = {
        "profile": CLEANRL_PROFILE,
        "extras": [],
        "satisfies": [],
        "python_version": sys.version.split()[0],
        "packages": {"gymnasium": "0.29.1", "torch": "2.13.0", "tyro": "1.0.16"},
        "created_at": 0.0,
    }
    write_json_whole(root / DOCUMENT, document)


@pytest.fixture
def checkout(tmp_path: Path, var_dir: Path) -> Path:
    """Return a checkout that the operator allowed, and make the bundle 'cleanrl'."""
    home = tmp_path / "checkout"
    shutil.copytree(CHECKOUT, home, ignore=shutil.ignore_patterns("__pycache__"))
    (var_dir / "mosaic.toml").write_text(f'[allow]\ncheckouts = ["{home}"]\n')
    make_bundle(var_dir / "trainer" / "venvs" / "cleanrl")
    return home
