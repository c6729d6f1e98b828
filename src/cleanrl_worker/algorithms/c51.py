"""Categorical deep Q-learning (Bellemare et al. 2017).

Implemented: a categorical distribution of returns for every action, its projection onto the fixed
atoms, replay, target network, epsilon-greedy exploration; CleanRL's `c51` and `c51_atari` by
defaults and tags.
Changed: the projection of a batch is one scatter instead of a loop over samples; several
environments, each exploring on its own. What is due every n steps counts environment steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor, nn

from cleanrl_worker.agents.build import build_categorical_q_network
from cleanrl_worker.agents.inference import Infer, infer
from cleanrl_worker.agents.nature import NatureCategoricalQNetwork
from cleanrl_worker.agents.q_networks import CategoricalQNetwork
from cleanrl_worker.agents.targets import Target
from cleanrl_worker.algorithms.batches import check_atoms, check_replay
from cleanrl_worker.compiling import Compiler
from cleanrl_worker.envs.observations import Array
from cleanrl_worker.envs.vector import EnvBatch
from cleanrl_worker.exploration import epsilon_greedy, value_policy
from cleanrl_worker.optimisers import Adam
from cleanrl_worker.policies import Policy
from cleanrl_worker.recording import Run
from cleanrl_worker.replay.buffer import Transitions
from cleanrl_worker.replay.choosing import build_replay, replay_bytes
from cleanrl_worker.returns import project_onto_atoms
from cleanrl_worker.schedules import is_log_due, linear, times_due
from mosaic.contracts.parameters import param

SMALLEST_PROBABILITY = 1e-5  # keeps the logarithm finite, as in CleanRL


@dataclass(frozen=True)
class Config:
    learning_rate: float = param(2.5e-4, "Learning rate of Adam.", range=(0, 1), group="optimiser")
    num_envs: int = param(1, "Environments stepped together.", range=(1, 65536), group="rollout")
    n_atoms: int = param(101, "Returns that a distribution is over.", range=(2, None), group="loss")
    v_min: float = param(-100.0, "Smallest return of a distribution.", group="loss")
    v_max: float = param(100.0, "Largest return of a distribution.", group="loss")
    buffer_size: int = param(
        10_000, "Transitions that the replay buffer holds.", range=(1, None), group="replay"
    )
    gamma: float = param(0.99, "Discount.", range=(0, 1), group="returns")
    target_network_frequency: int = param(
        500, "Steps between target updates.", range=(1, None), unit="steps", group="update"
    )
    batch_size: int = param(128, "Transitions of an update.", range=(1, None), group="update")
    start_e: float = param(1.0, "Exploration at the start.", range=(0, 1), group="exploration")
    end_e: float = param(0.05, "Exploration at the end.", range=(0, 1), group="exploration")
    exploration_fraction: float = param(
        0.5, "Share of the run in which exploration falls.", range=(0, 1), group="exploration"
    )
    learning_starts: int = param(
        10_000, "Steps before learning begins.", range=(0, None), unit="steps", group="update"
    )
    train_frequency: int = param(
        10, "Steps between updates.", range=(1, None), unit="steps", group="update"
    )

    def check(self, total_timesteps: int) -> None:
        check_replay(self.buffer_size, self.num_envs, self.learning_starts, total_timesteps)
        check_atoms(self.v_min, self.v_max)


def build(config: Config, envs: EnvBatch) -> nn.Module:
    return build_categorical_q_network(
        envs.observation_space, envs.action_space, config.n_atoms, config.v_min, config.v_max
    )


def storage_bytes(config: Config, envs: EnvBatch) -> int:
    return replay_bytes(config.buffer_size, envs, config.num_envs)


def q_values_of(agent: nn.Module, device: torch.device) -> Infer:
    """Return the expected returns of all actions."""
    assert isinstance(agent, CategoricalQNetwork)
    is_flat = not isinstance(agent, NatureCategoricalQNetwork)
    logits_of = infer(agent, agent.network if is_flat else None, device)
    atoms = agent.atoms.cpu().numpy()

    def q_values(obs: Array) -> Array:
        logits = logits_of(obs).reshape(len(obs), -1, len(atoms))
        weights = np.exp(logits - logits.max(-1, keepdims=True))
        values: Array = (weights @ atoms) / weights.sum(-1)
        return values

    return q_values


def policy(agent: nn.Module, action_space: gym.Space[object], device: torch.device) -> Policy:
    return value_policy(q_values_of(agent, device))


def loss(
    agent: CategoricalQNetwork, target: CategoricalQNetwork, batch: Transitions, gamma: float
) -> tuple[Tensor, Tensor]:
    """Return the cross-entropy to the projected target distributions, and the taken values."""
    atoms = agent.atoms
    rows = torch.arange(len(batch.rewards), device=atoms.device)
    with torch.no_grad():
        next_probs = target(batch.next_obs).softmax(-1)
        best = (next_probs @ atoms).argmax(1)
        returns = batch.rewards[:, None] + gamma * (1 - batch.ends)[:, None] * atoms
        wanted = project_onto_atoms(next_probs[rows, best], returns, atoms)
    probs = agent(batch.obs)[rows, batch.actions].softmax(-1)
    bounded = probs.clamp(SMALLEST_PROBABILITY, 1 - SMALLEST_PROBABILITY)
    return -(wanted * bounded.log()).sum(-1).mean(), probs.detach() @ atoms


def update(
    agent: CategoricalQNetwork,
    target: CategoricalQNetwork,
    optimizer: Adam,
    compiled: Compiler,
    gamma: float,
    batch: Transitions,
) -> dict[str, Tensor]:
    """Take one gradient step on sampled transitions, and return what CleanRL logs of it."""
    cross_entropy, values = compiled(loss)(agent, target, batch, gamma)
    optimizer.descend(cross_entropy)
    return {"losses/loss": cross_entropy, "losses/q_values": values.mean()}


def train(run: Run, config: Config, envs: EnvBatch, agent: nn.Module, device: torch.device) -> None:
    assert isinstance(agent, CategoricalQNetwork)
    target = Target(agent)
    optimizer = Adam(agent.parameters(), config.learning_rate, eps=0.01 / config.batch_size)
    replay = build_replay(config.buffer_size, envs)
    learn = run.compiled.whole(
        partial(update, agent, target.network, optimizer, run.compiled, config.gamma)
    )
    q_values = q_values_of(agent, device)
    exploration_steps = config.exploration_fraction * run.total_timesteps
    obs = run.begin(envs, replay=replay, agent=agent, target=target, optimizer=optimizer)
    while run.step < run.total_timesteps and not run.should_stop:
        epsilon = linear(config.start_e, config.end_e, exploration_steps, run.step)
        chosen = epsilon_greedy(q_values(obs), epsilon, run.rng)
        run.budget.lap("acting")
        step = envs.step(chosen)
        run.budget.lap("environment")
        replay.add(obs, chosen, step)
        before, run.step = run.step, run.step + envs.num_envs
        run.log_episodes(step.episodes)
        if run.step > config.learning_starts:
            losses: dict[str, Tensor] = {}
            for _ in range(times_due(config.train_frequency, before, run.step)):
                losses = learn(replay.sample(run.rng, config.batch_size, device))
            if times_due(config.target_network_frequency, before, run.step):
                target.follow(1.0)
            run.budget.lap("learning")
            if losses and is_log_due(run.step, config.train_frequency, envs.num_envs):
                run.log_update(losses)
        obs = run.boundary(envs, step.obs)
