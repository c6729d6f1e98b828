"""The residual network of IMPALA (Espeholt et al. 2018) in flax, with flax's own initialisation."""

from __future__ import annotations

import flax.linen as nn
import jax

from cleanrl_worker.agents.flax_networks import scaled

FEATURES = 256
CHANNELS = (16, 32, 32)
_SIZE = (3, 3)
# As torch pads: "SAME" would pad an even side at its end alone.
_PADDING = ((1, 1), (1, 1))


class ImpalaNetwork(nn.Module):
    """Values of actions from Atari pictures."""

    outputs: int

    @nn.compact
    def __call__(self, obs: jax.Array) -> jax.Array:
        x = scaled(obs)
        for channels in CHANNELS:
            x = nn.Conv(channels, _SIZE, padding=_PADDING)(x)
            x = nn.max_pool(x, _SIZE, strides=(2, 2), padding=_PADDING)  # type: ignore[no-untyped-call]
            for _ in range(2):
                inner = nn.Conv(channels, _SIZE, padding=_PADDING)(nn.relu(x))
                x = x + nn.Conv(channels, _SIZE, padding=_PADDING)(nn.relu(inner))
        x = nn.relu(nn.Dense(FEATURES)(nn.relu(x).reshape(len(x), -1)))
        return nn.Dense(self.outputs)(x)
