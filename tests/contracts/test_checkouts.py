"""The flags of a CleanRL script are read from its source, which is never run."""

from __future__ import annotations

from pathlib import Path

import pytest

from mosaic.contracts.checkouts import find_script, find_scripts, script_schema
from mosaic.contracts.errors import ConfigError
from mosaic.workers.discovery import load_catalogue

SCRIPT = '''
import nothing_that_exists
from dataclasses import dataclass, field
from typing import List, Literal, Optional, Tuple

raise SystemExit("this line is never reached")

@dataclass
class Args:
    exp_name: str = os.path.basename(__file__)[: -len(".py")]
    """the name"""
    total_timesteps: int = int(1e6)
    """steps"""
    rate: float = 2.5e-4
    clip: float = -0.5 * 2
    wandb_entity: str = None
    target_kl: Optional[float] = None
    newer: float | None = 0.1
    cuda: bool = True
    """toggles
    cuda"""
    backend: Literal["gloo", "nccl"] = "gloo"
    device_ids: List[int] = field(default_factory=lambda: [0, 1])
    sizes: Tuple[int, ...] = (64, 64)
    odd: SomeClass = SomeClass(3)
    batch_size: int = 0
    """the batch size (computed in runtime)"""
'''


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "cleanrl"
    (folder / "deep").mkdir(parents=True)
    (folder / "one.py").write_text(SCRIPT)
    (folder / "deep" / "deep.py").write_text("class Args:\n    seed: int = 1\n")
    (folder / "deep" / "part.py").write_text("")
    (folder / "no_args.py").write_text("print(1)\n")
    (folder / "broken.py").write_text("class Args(:\n")
    return tmp_path


def test_types_defaults_and_help_are_those_of_the_source(home: Path) -> None:
    schema = script_schema(home, "cleanrl:one")
    found = {each.name: (each.type, each.default, each.optional) for each in schema.fields}
    assert found == {
        "exp_name": ("str", "one", False),
        "total_timesteps": ("int", 1_000_000, False),
        "rate": ("float", 2.5e-4, False),
        "clip": ("float", -1.0, False),
        "wandb_entity": ("str", None, True),
        "target_kl": ("float", None, True),
        "newer": ("float", 0.1, True),
        "cuda": ("bool", True, False),
        "backend": ("str", "gloo", False),
        "device_ids": ("int[]", (0, 1), False),
        "sizes": ("int[]", (64, 64), False),
        "odd": ("str", None, True),
    }
    by_name = {each.name: each for each in schema.fields}
    assert by_name["cuda"].help == "toggles cuda."
    assert by_name["backend"].choices == ("gloo", "nccl")
    assert schema.module == "cleanrl/one.py"


def test_a_checkout_lists_what_can_be_read(home: Path) -> None:
    assert find_scripts(home) == [
        "cleanrl:broken",
        "cleanrl:deep",
        "cleanrl:no_args",
        "cleanrl:one",
    ]
    assert set(load_catalogue().of_checkout(home).entries) == {"cleanrl:deep", "cleanrl:one"}
    assert find_script(home, "cleanrl:deep").name == "deep.py"


@pytest.mark.parametrize(
    ("algo", "text"),
    [
        ("cleanrl:ones", "Did you mean 'cleanrl:one'"),
        ("cleanrl:no_args", "has no dataclass Args"),
        ("cleanrl:broken", "cannot be read"),
        ("cleanrl:../one", "is unknown"),
    ],
)
def test_what_is_no_script_is_told_in_one_line(home: Path, algo: str, text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        script_schema(home, algo)


def test_a_folder_that_is_no_checkout_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is no CleanRL checkout"):
        script_schema(tmp_path, "cleanrl:one")
