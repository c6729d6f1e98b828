"""Rainbow (Hessel et al. 2018): six extensions of deep Q-learning at once.

Implemented: double Q-learning, prioritised replay, dueling streams, returns over n steps,
distributions of returns, noisy layers; CleanRL's `rainbow_atari` by defaults and tags.
Changed: the noise is factorised, and new for every step and every update. Each step of an episode
begins a window, the last ones too, and none spans two episodes: one that a truncation or a cut ends
early is bootstrapped from there. The logarithm of a probability is taken from the logits instead of
being bounded. Several environments; what is due every n steps counts environment steps.
Dropped: start_e, end_e and exploration_fraction, which CleanRL takes and does not use.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import gymnasium as gym
import torch
from torch import Tensor, nn

from cleanrl_worker.agents.inference import Infer
from cleanrl_worker.agents.noisy import RainbowNetwork
from cleanrl_worker.agents.q_networks import count_actions
from cleanrl_worker.agents.targets import Target
from cleanrl_worker.algorithms.batches import check_atoms, check_replay
from cleanrl_worker.compiling import Compiler
from cleanrl_worker.envs.observations import Array
from cleanrl_worker.envs.vector import EnvBatch
from cleanrl_worker.exploration import value_policy
from cleanrl_worker.optimisers import Adam
from cleanrl_worker.policies import Policy
from cleanrl_worker.recording import Run
from cleanrl_worker.replay.choosing import build_episode_rows, prioritised_bytes
from cleanrl_worker.replay.prioritised import PrioritisedReplay, Windows
from cleanrl_worker.returns import project_onto_atoms
from cleanrl_worker.schedules import is_log_due, linear, times_due
from mosaic.contracts.parameters import param

ADAM_EPS = 1.5e-4  # Hessel et al. 2018, table 1


@dataclass(frozen=True)
class Config:
    learning_rate: float = param(6.25e-5, "Learning rate of Adam.", range=(0, 1), group="optimiser")
    num_envs: int = param(1, "Environments stepped together.", range=(1, 65536), group="rollout")
    buffer_size: int = param(
        1_000_000, "Transitions that the replay buffer holds.", range=(1, None), group="replay"
    )
    gamma: float = param(0.99, "Discount.", range=(0, 1), group="returns")
    tau: float = param(1.0, "Share of a target update.", range=(0, 1), group="update")
    target_network_frequency: int = param(
        8_000, "Steps between target updates.", range=(1, None), unit="steps", group="update"
    )
    batch_size: int = param(32, "Transitions of an update.", range=(1, None), group="update")
    learning_starts: int = param(
        80_000, "Steps before learning begins.", range=(0, None), unit="steps", group="update"
    )
    train_frequency: int = param(
        4, "Steps between updates.", range=(1, None), unit="steps", group="update"
    )
    n_step: int = param(
        3, "Rewards of a return before it is bootstrapped.", range=(1, None), group="returns"
    )
    prioritized_replay_alpha: float = param(
        0.5, "How far priorities decide on what is drawn; 0: not.", range=(0, 1), group="replay"
    )
    prioritized_replay_beta: float = param(
        0.4,
        "How far the loss undoes that preference at the start; at the end of the run wholly.",
        range=(0, 1),
        group="replay",
    )
    prioritized_replay_eps: float = param(
        1e-6, "Added to each priority, so that none is zero.", range=(0, None), group="replay"
    )
    n_atoms: int = param(51, "Returns that a distribution is over.", range=(2, None), group="loss")
    v_min: float = param(-10.0, "Smallest return of a distribution.", group="loss")
    v_max: float = param(10.0, "Largest return of a distribution.", group="loss")

    def check(self, total_timesteps: int) -> None:
        check_replay(self.buffer_size, self.num_envs, self.learning_starts, total_timesteps)
        check_atoms(self.v_min, self.v_max)


def build(config: Config, envs: EnvBatch) -> nn.Module:
    actions = count_actions(envs.action_space)
    shape = envs.observation_space.shape
    return RainbowNetwork(shape, actions, config.n_atoms, config.v_min, config.v_max)


def storage_bytes(config: Config, envs: EnvBatch) -> int:
    return prioritised_bytes(config.buffer_size, envs, config.num_envs, config.n_step)


def q_values_of(agent: nn.Module, device: torch.device, *, is_noisy: bool = False) -> Infer:
    """Return the expected returns of all actions, by the mean weights or with noise."""
    assert isinstance(agent, RainbowNetwork)

    def q_values(obs: Array) -> Array:
        with torch.inference_mode():
            logits = agent(torch.from_numpy(obs).to(device), is_noisy=is_noisy)
            values: Array = (logits.softmax(-1) @ agent.atoms).cpu().numpy()
        return values

    return q_values


def policy(agent: nn.Module, action_space: gym.Space[object], device: torch.device) -> Policy:
    return value_policy(q_values_of(agent, device))


def loss(
    agent: RainbowNetwork, target: RainbowNetwork, batch: Windows
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the weighted cross-entropy to the projected targets, each one's, and the values."""
    atoms = agent.atoms
    rows = torch.arange(len(batch.returns), device=atoms.device)
    with torch.no_grad():
        # Double Q-learning: the one network chooses the action, the other says what it is worth.
        best = (agent(batch.next_obs).softmax(-1) @ atoms).argmax(1)
        next_probs = target(batch.next_obs)[rows, best].softmax(-1)
        returns = batch.returns[:, None] + batch.discounts[:, None] * atoms
        wanted = project_onto_atoms(next_probs, returns, atoms)
    log_probs = agent(batch.obs)[rows, batch.actions].log_softmax(-1)
    cross_entropies = -(wanted * log_probs).sum(-1)
    values = log_probs.detach().exp() @ atoms
    return (batch.weights * cross_entropies).mean(), cross_entropies.detach(), values


def update(
    agent: RainbowNetwork,
    target: RainbowNetwork,
    optimizer: Adam,
    compiled: Compiler,
    batch: Windows,
) -> tuple[dict[str, Tensor], Tensor]:
    """Take one gradient step on drawn windows.

    Returns what CleanRL logs of it, and each window's error.
    """
    agent.draw_noise()
    target.draw_noise()
    td_loss, errors, values = compiled(loss)(agent, target, batch)
    optimizer.descend(td_loss)
    return {"losses/td_loss": td_loss, "losses/q_values": values.mean()}, errors


def train(run: Run, config: Config, envs: EnvBatch, agent: nn.Module, device: torch.device) -> None:
    assert isinstance(agent, RainbowNetwork)
    target = Target(agent)
    optimizer = Adam(agent.parameters(), config.learning_rate, eps=ADAM_EPS)
    replay = PrioritisedReplay(
        build_episode_rows(config.buffer_size, envs),
        n_step=config.n_step,
        gamma=config.gamma,
        alpha=config.prioritized_replay_alpha,
        eps=config.prioritized_replay_eps,
    )
    learn = run.compiled.whole(partial(update, agent, target.network, optimizer, run.compiled))
    noisy_values = q_values_of(agent, device, is_noisy=True)
    obs = run.begin(
        envs,
        replay=replay.store,
        priorities=replay,
        agent=agent,
        target=target,
        optimizer=optimizer,
    )
    while run.step < run.total_timesteps and not run.should_stop:
        agent.draw_noise()
        chosen = noisy_values(obs).argmax(-1)
        run.budget.lap("acting")
        step = envs.step(chosen)
        run.budget.lap("environment")
        replay.add(obs, chosen, step)
        before, run.step = run.step, run.step + envs.num_envs
        run.log_episodes(step.episodes)
        if run.step > config.learning_starts and not replay.is_empty:
            beta = linear(config.prioritized_replay_beta, 1.0, run.total_timesteps, run.step)
            losses: dict[str, Tensor] = {}
            for _ in range(times_due(config.train_frequency, before, run.step)):
                batch, places = replay.sample(run.rng, config.batch_size, beta, device)
                losses, errors = learn(batch)
                replay.rate(places, errors)
            if times_due(config.target_network_frequency, before, run.step):
                target.follow(config.tau)
            run.budget.lap("learning")
            if losses and is_log_due(run.step, config.train_frequency, envs.num_envs):
                run.log_update({**losses, "charts/beta": beta})
        obs = run.boundary(envs, step.obs)
