"""The transformer: what it looks back on, and what it must not see."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
import torch

from cleanrl_worker.agents.memories import Memories, Recalled, Shape
from cleanrl_worker.agents.transformer import TransformerAgent

CPU = torch.device("cpu")
LENGTH, ENVS, STEPS = 4, 2, 6
NUMBERS = gym.spaces.Box(-1.0, 1.0, (3,), np.float32)
PICTURE = gym.spaces.Box(0, 255, (84, 84, 3), np.uint8)


def shape(positions: str = "absolute") -> Shape:
    return Shape(2, 2, 8, LENGTH, longest_episode=16, positions=positions)


def agent(positions: str = "absolute") -> TransformerAgent:
    torch.manual_seed(1)
    return TransformerAgent(NUMBERS, [3], shape(positions), reconstructs=False)


def recalled(ages: list[int]) -> Recalled:
    states = torch.randn(len(ages), LENGTH, 2, 8, generator=torch.Generator().manual_seed(2))
    return Recalled(states, torch.tensor(ages))


@pytest.mark.parametrize("positions", ["absolute", "learned", "none"])
def test_it_sees_as_many_steps_as_the_episode_has(positions: str) -> None:
    network, obs = agent(positions), torch.randn(1, 3)
    for age in range(LENGTH + 2):
        before = recalled([age])
        outputs = network(obs, before)[0]
        for step in range(LENGTH):
            states = before.states.clone()
            states[:, step] += 1.0 + torch.arange(8.0)
            changed = network(obs, Recalled(states, before.ages))[0]
            is_seen = LENGTH - step <= age
            assert torch.equal(outputs, changed) != is_seen, (age, step)


def test_positions_tell_the_steps_apart() -> None:
    obs, before = torch.randn(1, 3), recalled([LENGTH])
    swapped = Recalled(before.states[:, [1, 0, 2, 3]], before.ages)
    for positions, differs in (("absolute", True), ("learned", True), ("none", False)):
        network = agent(positions)
        same = torch.allclose(network(obs, before)[0], network(obs, swapped)[0], atol=1e-6)
        assert same != differs, positions


def test_memories_carry_no_gradient() -> None:
    network = agent()
    states = recalled([LENGTH])
    hidden = network(torch.randn(1, 3), states)[2]
    assert not hidden.requires_grad
    assert hidden.shape == (1, 2, 8)


def test_a_rollouts_samples_recall_what_acting_recalled() -> None:
    memories = Memories(shape(), STEPS, ENVS, CPU)
    ages = torch.tensor([[0, 3], [1, 4], [2, 0], [0, 1], [1, 2], [2, 3]])
    acting = []
    for t in range(STEPS):
        acting.append(memories.before(t, ages[t]))
        memories.put(t, torch.full((ENVS, 2, 8), float(t + 1)))
    flat = ages.flatten()
    order = torch.randperm(STEPS * ENVS, generator=torch.Generator().manual_seed(3))

    picked = memories.pick(order, flat[order], seen=LENGTH)

    for row, number in enumerate(order.tolist()):
        t, env = divmod(number, ENVS)
        age = int(ages[t, env])
        mine = picked.states[row, LENGTH - age :]
        steps = acting[t].states.shape[1]
        assert torch.equal(mine, acting[t].states[env, steps - age :])


def test_the_next_rollout_goes_on_with_the_last_steps() -> None:
    memories = Memories(shape(), STEPS, ENVS, CPU)
    for t in range(STEPS):
        memories.put(t, torch.full((ENVS, 2, 8), float(t + 1)))
    memories.go_on()
    ages = torch.full((ENVS,), STEPS)
    seen = memories.before(0, ages).states[0, :, 0, 0]
    assert seen.tolist() == [3.0, 4.0, 5.0, 6.0]
    memories.clear()
    assert not memories.before(0, ages).states.any()


def test_pictures_are_turned_back() -> None:
    network = TransformerAgent(PICTURE, [3, 2], shape(), reconstructs=True)
    obs = torch.from_numpy(np.stack([PICTURE.sample() for _ in range(2)]))
    outputs, values, _, features = network(obs, recalled([1, 0]))
    loss = network.reconstruction_loss(obs, features)
    loss.backward()
    assert outputs.shape == (2, 5)
    assert values.shape == (2,)
    assert loss.item() == pytest.approx(0.7, abs=0.3)
    first = network.encoder[0]
    assert first.weight.grad is not None
    assert first.weight.grad.any()


def test_the_parts_are_named_as_cleanrls() -> None:
    names = {name.split(".")[0] for name in agent().state_dict()}
    assert names == {"encoder", "transformer", "hidden_post_trxl", "actor_branches", "critic"}
    layer = "transformer.transformer_layers.1."
    parts = {n.removeprefix(layer) for n in agent().state_dict() if n.startswith(layer)}
    assert parts == {
        *(f"attention.{part}.weight" for part in ("values", "keys", "queries", "fc_out")),
        "attention.fc_out.bias",
        *(
            f"{norm}.{kind}"
            for norm in ("layer_norm_q", "norm_kv", "layer_norm_attn")
            for kind in ("weight", "bias")
        ),
        "fc_projection.0.weight",
        "fc_projection.0.bias",
    }
    assert "transformer.pos_embedding.inv_freqs" in agent().state_dict()
