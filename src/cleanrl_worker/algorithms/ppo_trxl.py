"""Proximal policy optimisation with a Transformer-XL (Pleines et al. 2023).

Implemented: PPO on a transformer that looks at the hidden states of the episode's last steps, which
are kept from acting and carry no gradient; AdamW, learning rate and entropy bonus that fall
linearly, one choice for every branch of a MultiDiscrete action, and optionally the reconstruction
of the picture from the features; CleanRL's `ppo_trxl` by defaults and tags.
Changed: a truncated episode is bootstrapped, and with the memory that belongs to its last
observation; the value loss is halved as everywhere else; biases start at zero; the ratio of an
action is that of all its branches together; the window holds as many steps as it says, where
CleanRL's hides one; in an episode's first step nothing is recalled.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor, nn

from cleanrl_worker.agents.layout import laid_out, pick_rows
from cleanrl_worker.agents.memories import Memories, Recalled, Shape
from cleanrl_worker.agents.transformer import TransformerAgent, can_be_reconstructed
from cleanrl_worker.algorithms.batches import check_batches
from cleanrl_worker.compiling import Compiler
from cleanrl_worker.distributions import Branches, Distribution, distribution_for
from cleanrl_worker.envs.observations import Array, row_bytes
from cleanrl_worker.envs.vector import EnvBatch
from cleanrl_worker.optimisers import AdamW
from cleanrl_worker.policies import Policy
from cleanrl_worker.recent_episodes import RecentEpisodes
from cleanrl_worker.recording import Run
from cleanrl_worker.returns import explained_variance, generalised_advantages
from cleanrl_worker.schedules import linear
from mosaic.contracts.errors import ConfigError
from mosaic.contracts.parameters import param

UNKNOWN_EPISODE = 1024  # steps of an episode without a limit, for positions; as in CleanRL


@dataclass(frozen=True)
class Config:
    init_lr: float = param(2.75e-4, "First learning rate.", range=(0, 1), group="optimiser")
    final_lr: float = param(1e-5, "Last learning rate.", range=(0, 1), group="optimiser")
    num_envs: int = param(32, "Environments stepped together.", range=(1, 65536), group="rollout")
    num_steps: int = param(
        512, "Steps of each environment in a rollout.", range=(1, None), group="rollout"
    )
    anneal_steps: int = param(
        32 * 512 * 10_000,
        "Steps in which learning rate and entropy bonus fall; 0: they are the last from the start.",
        range=(0, None),
        group="optimiser",
    )
    gamma: float = param(0.995, "Discount.", range=(0, 1), group="returns")
    gae_lambda: float = param(0.95, "Lambda of the advantages.", range=(0, 1), group="returns")
    num_minibatches: int = param(8, "Minibatches of a rollout.", range=(1, None), group="update")
    update_epochs: int = param(3, "Passes over a rollout.", range=(1, None), group="update")
    norm_adv: bool = param(False, "Normalise advantages in each minibatch.", group="update")
    clip_coef: float = param(0.1, "Clip range of the ratio.", range=(0, None), group="loss")
    clip_vloss: bool = param(True, "Clip the value function's change too.", group="loss")
    init_ent_coef: float = param(
        1e-4, "First weight of the entropy bonus.", range=(0, None), group="loss"
    )
    final_ent_coef: float = param(
        1e-6, "Last weight of the entropy bonus.", range=(0, None), group="loss"
    )
    vf_coef: float = param(0.5, "Weight of the value loss.", range=(0, None), group="loss")
    max_grad_norm: float = param(
        0.25, "Longest gradient; longer ones are scaled.", range=(0, None), group="optimiser"
    )
    target_kl: float | None = param(
        None, "End an update's epochs beyond this KL; null: never.", range=(0, None), group="update"
    )
    trxl_num_layers: int = param(3, "Layers of the transformer.", range=(1, None), group="network")
    trxl_num_heads: int = param(4, "Heads of its attention.", range=(1, None), group="network")
    trxl_dim: int = param(384, "Units of a layer.", range=(2, None), group="network")
    trxl_memory_length: int = param(
        119, "Steps of the episode that it looks back on.", range=(1, None), group="network"
    )
    trxl_positional_encoding: str = param(
        "absolute",
        "How it tells these steps apart.",
        choices=("absolute", "learned", "none"),
        group="network",
    )
    reconstruction_coef: float = param(
        0.0, "Weight of the pictures' reconstruction; 0: none.", range=(0, None), group="loss"
    )

    @property
    def batch_size(self) -> int:
        return self.num_envs * self.num_steps

    def check(self, total_timesteps: int) -> None:
        check_batches(self.num_envs, self.num_steps, self.num_minibatches, total_timesteps)
        if self.trxl_dim % self.trxl_num_heads or self.trxl_dim % 2:
            raise ConfigError(
                f"trxl_dim={self.trxl_dim} does not fit trxl_num_heads={self.trxl_num_heads}: "
                "use an even multiple of it."
            )

    def shape(self, max_episode_steps: int | None) -> Shape:
        longest = max_episode_steps or UNKNOWN_EPISODE
        return Shape(
            self.trxl_num_layers,
            self.trxl_num_heads,
            self.trxl_dim,
            min(self.trxl_memory_length, longest),
            longest,
            self.trxl_positional_encoding,
        )


def build(config: Config, envs: EnvBatch) -> nn.Module:
    """Make the agent that fits the environment's spaces and its longest episode."""
    space, distribution = envs.observation_space, distribution_for(envs.action_space)
    reconstructs = config.reconstruction_coef > 0
    if reconstructs and not can_be_reconstructed(space):
        raise ConfigError(
            f"reconstruction_coef={config.reconstruction_coef} needs pictures of 84x84, and this "
            f"environment shows {space.shape}. Leave it at 0."
        )
    sizes = distribution.sizes if isinstance(distribution, Branches) else [distribution.outputs]
    shape = config.shape(envs.max_episode_steps)
    return TransformerAgent(space, sizes, shape, reconstructs=reconstructs)


@torch.no_grad()
def recall(
    agent: nn.Module, obs: Array, recalled: Recalled, device: torch.device
) -> tuple[Array, Array, Tensor]:
    """Return outputs and values of observations, and the hidden states to remember."""
    outputs, values, hidden, _ = agent(torch.from_numpy(obs).to(device), recalled)
    return outputs.cpu().numpy(), values.cpu().numpy(), hidden


class TransformerPolicy:
    """The agent's policy: most probable actions, or with a generator sampled ones."""

    def __init__(
        self, agent: nn.Module, action_space: gym.Space[object], device: torch.device
    ) -> None:
        assert isinstance(agent, TransformerAgent)
        self._agent, self._device = agent, device
        self._distribution = distribution_for(action_space)
        self._memories: Memories | None = None
        self._age = 0

    def __call__(self, obs: Array, rng: np.random.Generator | None) -> Array:
        if self._memories is None:
            self._memories = Memories(self._agent.transformer.shape, 1, len(obs), self._device)
        ages = torch.full((len(obs),), self._age, device=self._device)
        outputs, _, hidden = recall(self._agent, obs, self._memories.before(0, ages), self._device)
        self._memories.put(0, hidden)
        self._memories.go_on()
        self._age += 1
        if rng is None:
            return self._distribution.mode(outputs)
        return self._distribution.sample(outputs, self._distribution.noise(rng, len(obs)))

    def forget(self) -> None:
        self._memories, self._age = None, 0


def policy(agent: nn.Module, action_space: gym.Space[object], device: torch.device) -> Policy:
    return TransformerPolicy(agent, action_space, device)


@dataclass(slots=True)
class Rollout:
    """One rollout, allocated once: arrays of [step, environment]. `ages` count episodes' steps."""

    obs: Array
    actions: Array
    outputs: Array
    rewards: Array
    ends: Array
    values: Array
    ages: Array
    memories: Memories

    @classmethod
    def allocate(
        cls, config: Config, envs: EnvBatch, distribution: Distribution, device: torch.device
    ) -> Rollout:
        shape = (config.num_steps, config.num_envs)
        space = envs.observation_space
        return cls(
            obs=np.zeros((*shape, *space.shape), space.dtype),
            actions=np.zeros((*shape, *distribution.action_shape), distribution.action_dtype),
            outputs=np.zeros((*shape, distribution.outputs), np.float32),
            rewards=np.zeros(shape, np.float32),
            ends=np.zeros(shape, np.bool_),
            values=np.zeros(shape, np.float32),
            ages=np.zeros(shape, np.int64),
            memories=Memories(config.shape(envs.max_episode_steps), *shape, device),
        )


def storage_bytes(config: Config, envs: EnvBatch) -> int:
    """Return what a rollout, its memories, and what a minibatch recalls of them take in memory."""
    shape = config.shape(envs.max_episode_steps)
    hidden = shape.layers * shape.dim * 4
    remembered = (config.num_steps + shape.memory_length) * config.num_envs * hidden
    recalled = config.batch_size // config.num_minibatches * shape.memory_length * hidden
    rows = 2 * config.batch_size * (row_bytes(envs.observation_space) + 8 * 4)
    return rows + remembered + recalled


@dataclass(frozen=True, slots=True)
class Batch:
    """The samples of an update, one row each, and the memories of all of them."""

    obs: Tensor
    actions: Tensor
    log_probs: Tensor
    advantages: Tensor
    returns: Tensor
    values: Tensor
    ages: Tensor

    def rows(self, index: Tensor) -> Batch:
        return Batch(
            pick_rows(self.obs, index),
            self.actions.index_select(0, index),
            self.log_probs.index_select(0, index),
            self.advantages.index_select(0, index),
            self.returns.index_select(0, index),
            self.values.index_select(0, index),
            self.ages.index_select(0, index),
        )


def collect(
    run: Run,
    envs: EnvBatch,
    agent: nn.Module,
    distribution: Distribution,
    rollout: Rollout,
    recent: RecentEpisodes,
    obs: Array,
    ages: Array,
    gamma: float,
    device: torch.device,
) -> tuple[Array, Array, Array]:
    """Fill the rollout from `obs` on; return what is seen after it, its age, and its value."""

    def value_of(seen: Array, t: int, ages: Array) -> tuple[Array, Array, Tensor]:
        recalled = rollout.memories.before(t, torch.from_numpy(ages).to(device))
        return recall(agent, seen, recalled, device)

    steps = len(rollout.rewards)
    noise = distribution.noise(run.rng, *rollout.rewards.shape)
    for t in range(steps):
        outputs, rollout.values[t], hidden = value_of(obs, t, ages)
        rollout.memories.put(t, hidden)
        actions = distribution.sample(outputs, noise[t])
        rollout.obs[t], rollout.ages[t] = obs, ages
        rollout.outputs[t], rollout.actions[t] = outputs, actions
        run.budget.lap("acting")
        step = envs.step(actions)
        run.budget.lap("environment")
        run.step += envs.num_envs
        rewards = step.rewards
        ended = step.terminated | step.truncated
        ages = ages + 1
        if ended.any():
            cut = step.truncated & ~step.terminated
            if cut.any():
                rewards = rewards + gamma * cut * value_of(step.next_obs, t + 1, ages)[1]
            ages = np.where(ended, 0, ages)
            recent.note(step.episodes)
            run.log_episodes(step.episodes)
        rollout.rewards[t], rollout.ends[t] = rewards, ended
        obs = step.obs
        if run.should_stop:
            break
    return obs, ages, value_of(obs, steps, ages)[1]


def to_batch(
    rollout: Rollout,
    last_values: Array,
    distribution: Distribution,
    config: Config,
    device: torch.device,
) -> Batch:
    """Turn the rollout into samples with advantages, returns and log probabilities."""
    advantages = generalised_advantages(
        rollout.rewards,
        rollout.values,
        rollout.ends,
        last_values,
        gamma=config.gamma,
        gae_lambda=config.gae_lambda,
    )

    def flat(array: Array) -> Tensor:
        return torch.from_numpy(array.reshape(-1, *array.shape[2:])).to(device)

    actions = flat(rollout.actions)
    return Batch(
        laid_out(flat(rollout.obs)),
        actions,
        distribution.log_prob(flat(rollout.outputs), actions),
        flat(advantages),
        flat(advantages + rollout.values),
        flat(rollout.values),
        flat(rollout.ages),
    )


def loss(
    agent: nn.Module,
    distribution: Distribution,
    batch: Batch,
    recalled: Recalled,
    config: Config,
    ent_coef: Tensor,
) -> tuple[Tensor, dict[str, Tensor]]:
    """Return the loss of a minibatch, and its parts without their gradients."""
    outputs, values, _, features = agent(batch.obs, recalled)
    log_probs, entropies = distribution.log_prob_and_entropy(outputs, batch.actions)
    log_ratio = log_probs - batch.log_probs
    ratio = log_ratio.exp()

    advantages = batch.advantages
    if config.norm_adv:
        advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    clipped = ratio.clamp(1 - config.clip_coef, 1 + config.clip_coef)
    policy_loss = -torch.min(advantages * ratio, advantages * clipped).mean()

    value_error = (values - batch.returns).square()
    if config.clip_vloss:
        change = (values - batch.values).clamp(-config.clip_coef, config.clip_coef)
        value_error = torch.max(value_error, (batch.values + change - batch.returns).square())
    value_loss = 0.5 * value_error.mean()

    entropy = entropies.mean()
    total = policy_loss - ent_coef * entropy + config.vf_coef * value_loss
    reconstruction_loss = torch.zeros(())
    if config.reconstruction_coef > 0:
        assert isinstance(agent, TransformerAgent)
        reconstruction_loss = agent.reconstruction_loss(batch.obs, features)
        total = total + config.reconstruction_coef * reconstruction_loss
    parts = {
        "policy_loss": policy_loss.detach(),
        "value_loss": value_loss.detach(),
        "loss": total.detach(),
        "entropy": entropy.detach(),
        "reconstruction_loss": reconstruction_loss.detach(),
        "log_ratio": log_ratio.detach(),
    }
    return total, parts


Learn = Callable[[Batch, Recalled, Tensor], dict[str, Tensor]]


def descend(
    agent: nn.Module,
    distribution: Distribution,
    optimizer: AdamW,
    compiled: Compiler,
    config: Config,
    minibatch: Batch,
    recalled: Recalled,
    ent_coef: Tensor,
) -> dict[str, Tensor]:
    """Take one gradient step, and return the parts of the loss before it."""
    total, parts = compiled(loss)(agent, distribution, minibatch, recalled, config, ent_coef)
    optimizer.descend(total)
    return parts


def update(
    run: Run, learn: Learn, batch: Batch, memories: Memories, config: Config, ent_coef: Tensor
) -> dict[str, float]:
    """Take the epochs of gradient steps over one batch, and return what CleanRL logs of them."""
    seen = memories.reach(batch.ages)
    log_ratios: list[Tensor] = []
    parts: dict[str, Tensor] = {}
    approx_kl = 0.0
    for _ in range(config.update_epochs):
        order = torch.from_numpy(run.rng.permutation(config.batch_size)).to(batch.obs.device)
        for index in order.split(config.batch_size // config.num_minibatches):
            if run.should_stop:
                return {}
            rows = batch.rows(index)
            parts = learn(rows, memories.pick(index, rows.ages, seen), ent_coef)
            log_ratios.append(parts["log_ratio"].clone())  # a graph's next replay writes there
        log_ratio = parts["log_ratio"]
        approx_kl = float((log_ratio.exp() - 1 - log_ratio).mean())
        if config.target_kl is not None and approx_kl > config.target_kl:
            break
    clipped = (torch.cat(log_ratios).exp() - 1).abs() > config.clip_coef
    named = ("value_loss", "policy_loss", "loss", "entropy", "reconstruction_loss")
    return {
        **{f"losses/{name}": float(parts[name]) for name in named},
        "losses/old_approx_kl": float(-parts["log_ratio"].mean()),
        "losses/approx_kl": approx_kl,
        "losses/clipfrac": float(clipped.float().mean()),
        "losses/explained_variance": explained_variance(batch.values, batch.returns),
    }


def train(run: Run, config: Config, envs: EnvBatch, agent: nn.Module, device: torch.device) -> None:
    optimizer = AdamW(agent.parameters(), config.init_lr, max_grad_norm=config.max_grad_norm)
    distribution = distribution_for(envs.action_space)
    learn = run.compiled.whole(
        partial(descend, agent, distribution, optimizer, run.compiled, config)
    )
    rollout = Rollout.allocate(config, envs, distribution, device)
    recent = RecentEpisodes(config.num_envs)
    obs = run.begin(envs, agent=agent, optimizer=optimizer, episodes=recent)
    ages = np.zeros(config.num_envs, np.int64)
    for _ in range(run.step // config.batch_size, run.total_timesteps // config.batch_size):
        rate = linear(config.init_lr, config.final_lr, config.anneal_steps, run.step)
        ent_coef = linear(
            config.init_ent_coef, config.final_ent_coef, config.anneal_steps, run.step
        )
        optimizer.learning_rate = rate
        obs, ages, last_values = collect(
            run, envs, agent, distribution, rollout, recent, obs, ages, config.gamma, device
        )
        if run.should_stop:
            return
        batch = to_batch(rollout, last_values, distribution, config, device)
        losses = update(
            run,
            learn,
            batch,
            rollout.memories,
            config,
            torch.tensor(ent_coef, device=device),  # as a number it would be compiled in
        )
        if not losses:
            return
        run.budget.lap("learning")
        coefficients = {"charts/learning_rate": rate, "charts/entropy_coefficient": ent_coef}
        run.log_update({**coefficients, **losses, **_means(run, recent, batch)})
        obs = run.boundary(envs, obs)
        rollout.memories.go_on()
        if run.has_cut:
            rollout.memories.clear()
            ages = np.zeros_like(ages)


def _means(run: Run, recent: RecentEpisodes, batch: Batch) -> dict[str, float]:
    means = {
        "episode/value_mean": float(batch.values.mean()),
        "episode/advantage_mean": float(batch.advantages.mean()),
        **recent.means(),
    }
    mean_return = run.mean_return()
    return means if mean_return is None else {"episode/r_mean": mean_return, **means}
