"""The files of CleanRL's own c51, which keep the script's arguments beside the weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from tests.cleanrl_worker.test_evaluation import play, prepare, refusal


class CleanRLCategoricalNetwork(nn.Module):
    """The network of CleanRL's c51, written down anew: its names, shapes and choice of actions."""

    atoms: torch.Tensor

    def __init__(self, n_atoms: int, v_min: float, v_max: float) -> None:
        super().__init__()
        self.register_buffer("atoms", torch.linspace(v_min, v_max, steps=n_atoms))
        self.network = nn.Sequential(
            nn.Linear(4, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 2 * n_atoms)
        )

    def best_actions(self, obs: torch.Tensor) -> torch.Tensor:
        chances = self.network(obs).view(len(obs), 2, -1).softmax(-1)
        return (chances * self.atoms).sum(-1).argmax(-1)


def save_as_cleanrls_c51(path: Path, network: nn.Module, **atoms: Any) -> Path:
    """Save what CleanRL's c51 saves: the weights, and all arguments of the script."""
    args = {
        "exp_name": "c51", "seed": 1, "torch_deterministic": True, "cuda": True, "track": False,
        "wandb_project_name": "cleanRL", "wandb_entity": None, "capture_video": False,
        "save_model": True, "upload_model": False, "hf_entity": "", "env_id": "CartPole-v1",
        "total_timesteps": 500000, "learning_rate": 0.00025, "num_envs": 1, "n_atoms": 101,
        "v_min": -100, "v_max": 100, "buffer_size": 10000, "gamma": 0.99,
        "target_network_frequency": 500, "batch_size": 128, "start_e": 1, "end_e": 0.05,
        "exploration_fraction": 0.5, "learning_starts": 10000, "train_frequency": 10,
    }  # fmt: skip
    torch.save({"model_weights": network.state_dict(), "args": {**args, **atoms}}, path)
    return path


@pytest.mark.parametrize(
    ("n_atoms", "v_min", "v_max"), [(101, -100, 100), (51, -10.0, 10.0), (101, 0, 500)]
)
def test_cleanrls_c51_is_evaluated_with_the_atoms_and_environment_of_its_arguments(
    tmp_path: Path, n_atoms: int, v_min: float, v_max: float
) -> None:
    torch.manual_seed(0)
    network = CleanRLCategoricalNetwork(n_atoms, v_min, v_max)
    path = save_as_cleanrls_c51(
        tmp_path / "c51.cleanrl_model", network, n_atoms=n_atoms, v_min=v_min, v_max=v_max
    )
    prepared = prepare("c51", path)
    obs = np.random.default_rng(0).normal(size=(64, 4)).astype(np.float32)
    with torch.inference_mode():
        expected = network.best_actions(torch.from_numpy(obs)).numpy()
    np.testing.assert_array_equal(prepared.policy.choose(obs, None), expected)
    assert len(set(expected)) == 2
    assert prepared.warnings == ()
    assert len(play(prepared)) == 4


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"n_atoms": 51}, "atoms is 101, not 51"),
        ({"n_atoms": "many"}, "has wrong settings: n_atoms='many'"),
        ({"n_atoms": 1}, "has wrong settings: n_atoms=1"),
    ],
)
def test_arguments_in_a_file_are_checked(
    tmp_path: Path, arguments: dict[str, Any], says: str
) -> None:
    network = CleanRLCategoricalNetwork(101, -100, 100)
    path = save_as_cleanrls_c51(tmp_path / "c51.cleanrl_model", network, **arguments)
    assert says in refusal(tmp_path, "c51", path)
