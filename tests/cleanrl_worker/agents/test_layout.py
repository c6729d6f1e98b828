"""The layout of pictures changes how fast they are read, and nothing else."""

from __future__ import annotations

import pytest
import torch

from cleanrl_worker.agents.layout import laid_out, pick_rows
from cleanrl_worker.agents.nature import NatureQNetwork

PICTURES = torch.randint(0, 256, (6, 4, 84, 84), generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("obs", [PICTURES.byte(), torch.rand(6, 7, 7, 3), torch.rand(6, 5)])
def test_rows_are_those_of_the_index_and_keep_the_layout(obs: torch.Tensor) -> None:
    index = torch.tensor([4, 0, 4])
    whole = laid_out(obs)
    rows = pick_rows(whole, index)
    assert torch.equal(whole, obs)
    assert torch.equal(rows, obs[index])
    assert rows.stride() == whole.stride()


def test_pictures_lie_with_the_values_of_a_pixel_side_by_side() -> None:
    assert laid_out(PICTURES.byte()).stride()[1] == 1


def test_a_network_reads_either_layout_and_leaves_it_alone() -> None:
    network = NatureQNetwork(4)
    obs = PICTURES.byte()
    with torch.no_grad():
        expected = network(obs)
        assert torch.allclose(network(laid_out(obs)), expected, atol=1e-6)
    assert torch.allclose(network(obs), expected, atol=1e-6)
    assert torch.equal(obs, PICTURES.byte())
