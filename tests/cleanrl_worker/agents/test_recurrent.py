"""The memory behind an encoder: sequences give what single steps give, and episodes stay apart."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
import torch

from cleanrl_worker.agents.recurrent import LSTMAgent, cleared, empty_state, memory, unroll

CPU = torch.device("cpu")
STEPS, ROWS = 7, 3
ENDS = torch.zeros(STEPS, ROWS, dtype=torch.bool)
ENDS[1, 0] = ENDS[4, 1] = ENDS[4, 2] = ENDS[6, 0] = True


def space(*shape: int, dtype: type = np.uint8) -> gym.spaces.Box:
    return gym.spaces.Box(0, 10, shape, dtype)


def test_a_sequence_is_single_steps_whose_state_ends_with_each_episode() -> None:
    torch.manual_seed(1)
    lstm, features = memory(5), torch.randn(STEPS, ROWS, 5)
    begun = (torch.randn(1, ROWS, 128), torch.randn(1, ROWS, 128))

    together, last = unroll(lstm, features, begun, ENDS)

    state, single = begun, []
    for t in range(STEPS):
        output, state = lstm(features[t : t + 1], state)
        single.append(output)
        state = cleared(state, ENDS[t])
    torch.testing.assert_close(together, torch.cat(single))
    torch.testing.assert_close(last, state)


def test_nothing_of_an_ended_episode_reaches_the_next() -> None:
    torch.manual_seed(1)
    lstm, features = memory(5), torch.randn(STEPS, ROWS, 5)
    other = features.clone()
    other[:5, 1] += 1.0

    ones, others = (unroll(lstm, x, empty_state(ROWS, CPU), ENDS)[0] for x in (features, other))

    assert not torch.equal(ones[4, 1], others[4, 1])
    assert torch.equal(ones[5:, 1], others[5:, 1])


def test_gradients_do_not_cross_an_end() -> None:
    torch.manual_seed(1)
    lstm = memory(5)
    features = torch.randn(STEPS, ROWS, 5, requires_grad=True)

    unroll(lstm, features, empty_state(ROWS, CPU), ENDS)[0][5, 1].sum().backward()

    assert features.grad is not None
    assert not features.grad[:5].any()
    assert features.grad[5, 1].any()


@pytest.mark.parametrize(
    "observed", [space(1, 84, 84), space(4, 84, 84), space(7, 7, 3), space(3, dtype=np.float32)]
)
def test_it_reads_pictures_views_and_numbers(observed: gym.spaces.Box) -> None:
    agent = LSTMAgent(observed, outputs=5)
    obs = torch.from_numpy(
        np.stack([observed.sample() for _ in range(6)]).reshape(2, 3, *observed.shape)
    )

    outputs, values, (hidden, cell) = agent(obs, empty_state(3, CPU))

    assert outputs.shape == (2, 3, 5)
    assert values.shape == (2, 3)
    assert hidden.shape == cell.shape == (1, 3, 128)


def test_the_parts_are_named_as_cleanrls() -> None:
    names = set(LSTMAgent(space(1, 84, 84), outputs=4).state_dict())
    assert names == {
        *(f"network.{n}.{kind}" for n in (0, 2, 4, 7) for kind in ("weight", "bias")),
        *(f"lstm.{kind}_{where}_l0" for kind in ("weight", "bias") for where in ("ih", "hh")),
        *(f"{head}.{kind}" for head in ("actor", "critic") for kind in ("weight", "bias")),
    }
