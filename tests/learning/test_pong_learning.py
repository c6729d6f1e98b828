"""Pong on a GPU, in minutes. `make learn` runs this where torch sees one."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from cleanrl_worker.recipes import RECIPES
from tests.learning.launching import greedy_return

pytestmark = [
    pytest.mark.learn,
    pytest.mark.timeout(3600),
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU"),
]


def test_pong_is_won(tmp_path: Path) -> None:
    (row,) = RECIPES["ppo_atari_envpool"].tuned
    flags = [f"--{name.replace('_', '-')}={value}" for name, value in row.values.items()]
    where = [f"--env-id={row.env_id}", "--cuda", "--cudagraphs", "--seed=1"]

    assert greedy_return("ppo_atari_envpool", tmp_path, *where, *flags) >= 15.0
