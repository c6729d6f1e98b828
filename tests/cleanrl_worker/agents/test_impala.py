"""The residual network for pictures: CleanRL's parts by name and shape, any size of picture."""

from __future__ import annotations

import pytest
import torch

from cleanrl_worker.agents.impala import ImpalaEncoder, ImpalaQNetwork


def test_the_network_has_cleanrls_parts() -> None:
    network = ImpalaQNetwork(6)

    shapes = {name: tuple(item.shape) for name, item in network.state_dict().items()}
    assert shapes["network.0.conv.weight"] == (16, 4, 3, 3)
    assert shapes["network.0.res_block0.conv0.weight"] == (16, 16, 3, 3)
    assert shapes["network.1.conv.weight"] == (32, 16, 3, 3)
    assert shapes["network.2.res_block1.conv1.weight"] == (32, 32, 3, 3)
    assert shapes["network.5.weight"] == (256, 32 * 11 * 11)
    assert shapes["network.7.weight"] == (6, 256)


def test_an_update_leaves_no_part_behind() -> None:
    torch.manual_seed(1)
    network = ImpalaQNetwork(3)
    obs = torch.randint(0, 256, (2, 4, 84, 84), dtype=torch.uint8)

    network(obs).square().sum().backward()

    gradients = {name: item.grad for name, item in network.named_parameters()}
    assert all(grad is not None and grad.any() for grad in gradients.values())


@pytest.mark.parametrize(("height", "width"), [(64, 64), (33, 50)])
def test_the_encoder_takes_pictures_of_any_size(height: int, width: int) -> None:
    encoder = ImpalaEncoder(3, height, width, channels=(4, 8), features=10)

    assert encoder(torch.rand(2, 3, height, width)).shape == (2, 10)
