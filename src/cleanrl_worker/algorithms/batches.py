"""The arithmetic of rollouts, minibatches and replay, and its errors."""

from __future__ import annotations

from mosaic.contracts.errors import ConfigError


def check_batches(
    num_envs: int, num_steps: int, num_minibatches: int, total_timesteps: int
) -> None:
    """Refuse minibatches that do not divide a rollout, and a budget of less than one rollout."""
    batch_size = num_envs * num_steps
    shape = f"({num_envs} envs x {num_steps} steps)"
    if batch_size % num_minibatches:
        raise ConfigError(
            f"num_minibatches={num_minibatches} does not divide batch_size={batch_size} {shape}. "
            f"Use {_nearest_divisors(batch_size, num_minibatches)}."
        )
    if total_timesteps < batch_size:
        raise ConfigError(
            f"total_timesteps={total_timesteps} is smaller than one batch of {batch_size} steps "
            f"{shape}. Use at least {batch_size}, or fewer num_envs or num_steps."
        )


def check_sequences(
    num_envs: int, num_steps: int, num_minibatches: int, total_timesteps: int
) -> None:
    """Refuse minibatches that cannot be whole sequences, as a recurrent network needs them."""
    if num_envs % num_minibatches:
        raise ConfigError(
            f"num_minibatches={num_minibatches} does not divide num_envs={num_envs}: a minibatch "
            "is made of whole sequences, one an environment. "
            f"Use {_nearest_divisors(num_envs, num_minibatches)}."
        )
    check_batches(num_envs, num_steps, num_minibatches, total_timesteps)


def check_replay(
    buffer_size: int, num_envs: int, learning_starts: int, total_timesteps: int
) -> None:
    """Refuse a run that would end before it learned, and a buffer of less than one step."""
    if total_timesteps <= learning_starts:
        raise ConfigError(
            f"total_timesteps={total_timesteps} ends before learning begins at "
            f"learning_starts={learning_starts}. Use more steps, or let learning start earlier."
        )
    if buffer_size < num_envs:
        raise ConfigError(
            f"buffer_size={buffer_size} holds less than one step of num_envs={num_envs}. "
            f"Use at least {num_envs}."
        )


def check_atoms(v_min: float, v_max: float) -> None:
    """Refuse a distribution over no returns."""
    if v_min >= v_max:
        raise ConfigError(f"v_min={v_min} is not below v_max={v_max}.")


def _nearest_divisors(batch_size: int, wanted: int) -> str:
    divisors = [n for n in range(1, batch_size + 1) if batch_size % n == 0]
    below = [n for n in divisors if n < wanted][-1:]
    above = [n for n in divisors if n > wanted][:1]
    return " or ".join(str(n) for n in below + above)
