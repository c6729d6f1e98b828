"""Gymnasium's classic control as pure functions of one environment's state, in float32.

Gymnasium computes in float64, so single steps agree to about 1e-6 and episodes drift apart as two
orders of summation would let them. Each class names the equations that it follows.
"""

from __future__ import annotations

import math
from typing import ClassVar, Protocol

import jax
import jax.numpy as jnp


class Environment(Protocol):
    """One environment: a state is a vector. `actions` is None where they are continuous."""

    max_episode_steps: int
    actions: ClassVar[int | None]

    def reset(self, key: jax.Array) -> jax.Array: ...

    def step(self, state: jax.Array, action: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        """Return the next state, the reward, and whether the episode terminated."""

    def observe(self, state: jax.Array) -> jax.Array: ...


class CartPole:
    """A pole on a cart (Barto, Sutton and Anderson 1983), by Euler's method."""

    actions: ClassVar[int | None] = 2
    gravity, cart_mass, pole_mass, half_length = 9.8, 1.0, 0.1, 0.5
    force, seconds = 10.0, 0.02
    position_limit, angle_limit = 2.4, 12 * 2 * math.pi / 360

    def __init__(self, max_episode_steps: int) -> None:
        self.max_episode_steps = max_episode_steps

    def reset(self, key: jax.Array) -> jax.Array:
        return jax.random.uniform(key, (4,), minval=-0.05, maxval=0.05)

    def step(self, state: jax.Array, action: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        _, x_speed, angle, angle_speed = state
        mass = self.cart_mass + self.pole_mass
        moment = self.pole_mass * self.half_length
        push = jnp.where(action == 1, self.force, -self.force)
        cos, sin = jnp.cos(angle), jnp.sin(angle)
        drive = (push + moment * angle_speed**2 * sin) / mass
        angle_rate = (self.gravity * sin - cos * drive) / (
            self.half_length * (4.0 / 3.0 - self.pole_mass * cos**2 / mass)
        )
        x_rate = drive - moment * angle_rate * cos / mass
        speeds = jnp.stack((x_speed, x_rate, angle_speed, angle_rate))
        following = state + self.seconds * speeds
        is_out = jnp.abs(following[0]) > self.position_limit
        has_fallen = jnp.abs(following[2]) > self.angle_limit
        return following, jnp.float32(1.0), is_out | has_fallen

    def observe(self, state: jax.Array) -> jax.Array:
        return state


class MountainCar:
    """An underpowered car in a valley (Moore 1990)."""

    actions: ClassVar[int | None] = 3
    lowest, highest, goal, fastest = -1.2, 0.6, 0.5, 0.07

    def __init__(self, max_episode_steps: int) -> None:
        self.max_episode_steps = max_episode_steps

    def reset(self, key: jax.Array) -> jax.Array:
        position = jax.random.uniform(key, (), minval=-0.6, maxval=-0.4)
        return jnp.stack((position, jnp.float32(0.0)))

    def step(self, state: jax.Array, action: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        position, speed = state
        speed = speed + (action - 1) * 0.001 - jnp.cos(3 * position) * 0.0025
        speed = jnp.clip(speed, -self.fastest, self.fastest)
        position = jnp.clip(position + speed, self.lowest, self.highest)
        speed = jnp.where((position <= self.lowest) & (speed < 0), 0.0, speed)
        has_arrived = (position >= self.goal) & (speed >= 0)
        return jnp.stack((position, speed)), jnp.float32(-1.0), has_arrived

    def observe(self, state: jax.Array) -> jax.Array:
        return state


class Pendulum:
    """A pendulum that is swung up by a bounded torque; its episodes are only truncated."""

    actions: ClassVar[int | None] = None
    fastest, strongest, seconds, gravity = 8.0, 2.0, 0.05, 10.0

    def __init__(self, max_episode_steps: int) -> None:
        self.max_episode_steps = max_episode_steps

    def reset(self, key: jax.Array) -> jax.Array:
        return jax.random.uniform(key, (2,), minval=-1.0, maxval=1.0) * jnp.array((math.pi, 1.0))

    def step(self, state: jax.Array, action: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        angle, speed = state
        torque = jnp.clip(action.reshape(()), -self.strongest, self.strongest)
        off_top = (angle + math.pi) % (2 * math.pi) - math.pi
        cost = off_top**2 + 0.1 * speed**2 + 0.001 * torque**2
        rate = 1.5 * self.gravity * jnp.sin(angle) + 3.0 * torque
        speed = jnp.clip(speed + rate * self.seconds, -self.fastest, self.fastest)
        following = jnp.stack((angle + speed * self.seconds, speed))
        return following, -cost, jnp.bool_(False)

    def observe(self, state: jax.Array) -> jax.Array:
        return jnp.stack((jnp.cos(state[0]), jnp.sin(state[0]), state[1]))


class Acrobot:
    """Two links swung up by a torque between them (Sutton 1996), as in Sutton and Barto's book."""

    actions: ClassVar[int | None] = 3
    seconds, gravity, to_mass = 0.2, 9.8, 0.5  # lengths, masses and moments of the links are 1
    fastest = (4 * math.pi, 9 * math.pi)

    def __init__(self, max_episode_steps: int) -> None:
        self.max_episode_steps = max_episode_steps

    def reset(self, key: jax.Array) -> jax.Array:
        return jax.random.uniform(key, (4,), minval=-0.1, maxval=0.1)

    def step(self, state: jax.Array, action: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        torque = action.astype(jnp.float32) - 1.0
        angles, speeds = jnp.split(self._integrate(state, torque), 2)
        angles = (angles + math.pi) % (2 * math.pi) - math.pi
        bounds = jnp.array(self.fastest)
        following = jnp.concatenate((angles, jnp.clip(speeds, -bounds, bounds)))
        is_up = -jnp.cos(angles[0]) - jnp.cos(angles[1] + angles[0]) > 1.0
        return following, jnp.where(is_up, 0.0, -1.0), is_up

    def _integrate(self, state: jax.Array, torque: jax.Array) -> jax.Array:
        """Take one step of Runge and Kutta's method of fourth order."""
        half = 0.5 * self.seconds
        k1 = self._rates(state, torque)
        k2 = self._rates(state + half * k1, torque)
        k3 = self._rates(state + half * k2, torque)
        k4 = self._rates(state + self.seconds * k3, torque)
        return state + self.seconds / 6.0 * (k1 + 2 * k2 + 2 * k3 + k4)

    def _rates(self, state: jax.Array, torque: jax.Array) -> jax.Array:
        angle1, angle2, speed1, speed2 = state
        c, g = self.to_mass, self.gravity
        cos2, sin2 = jnp.cos(angle2), jnp.sin(angle2)
        d1 = c**2 + (1 + c**2 + 2 * c * cos2) + 2.0
        d2 = c**2 + c * cos2 + 1.0
        phi2 = c * g * jnp.cos(angle1 + angle2 - math.pi / 2)
        phi1 = -c * speed2**2 * sin2 - 2 * c * speed2 * speed1 * sin2
        phi1 = phi1 + (c + 1) * g * jnp.cos(angle1 - math.pi / 2) + phi2
        rate2 = (torque + d2 / d1 * phi1 - c * speed1**2 * sin2 - phi2) / (c**2 + 1.0 - d2**2 / d1)
        rate1 = -(d2 * rate2 + phi1) / d1
        return jnp.stack((speed1, speed2, rate1, rate2))

    def observe(self, state: jax.Array) -> jax.Array:
        angle1, angle2, speed1, speed2 = state
        of_angles = (jnp.cos(angle1), jnp.sin(angle1), jnp.cos(angle2), jnp.sin(angle2))
        return jnp.stack((*of_angles, speed1, speed2))


def find_environment(env_id: str) -> Environment | None:
    """Return the environment of Gymnasium's id, or None where there is none here."""
    made: dict[str, Environment] = {
        "CartPole-v0": CartPole(200),
        "CartPole-v1": CartPole(500),
        "MountainCar-v0": MountainCar(200),
        "Pendulum-v1": Pendulum(200),
        "Acrobot-v1": Acrobot(500),
    }
    return made.get(env_id)


IDS = ("CartPole-v0", "CartPole-v1", "MountainCar-v0", "Pendulum-v1", "Acrobot-v1")
