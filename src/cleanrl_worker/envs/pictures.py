"""Pictures of environments: made at the size in which they are shown, and cheaply.

A picture costs what training does not get. So an environment draws at the lane's own size where it
can, and MuJoCo draws without shadows, reflections and multisampling: 3.7 ms instead of 50 at
480x480, and people still see what happens.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:  # scripts of a CleanRL checkout draw with this on an older Gymnasium
    import gymnasium as gym

    from cleanrl_worker.envs.observations import Array
    from cleanrl_worker.envs.registry import ResolvedEnv

# Classic control: the attributes that hold the size of the window, and their ratio.
_WIDTH_AND_HEIGHT = ("screen_width", "screen_height")
_SIDES = ("screen_dim", "SCREEN_DIM")
_SMALLEST_TILE = 4


def render_options(env: ResolvedEnv, max_dim: int) -> dict[str, Any]:
    """Return what `make` has to be told so that the environment can draw itself."""
    options: dict[str, Any] = {"render_mode": "rgb_array"}
    if env.family == "mujoco":
        options |= {"width": max_dim, "height": max_dim}
    return options


def prepare_renderer(env: gym.Env[Any, Any], max_dim: int) -> None:
    """Set the size of what an environment draws, before it draws for the first time."""
    inner: Any = env.unwrapped
    if hasattr(inner, "mujoco_renderer"):
        inner.model.vis.quality.offsamples = 0
    elif all(isinstance(getattr(inner, name, None), int) for name in _WIDTH_AND_HEIGHT):
        longest = max(getattr(inner, name) for name in _WIDTH_AND_HEIGHT)
        for name in _WIDTH_AND_HEIGHT:
            setattr(inner, name, getattr(inner, name) * min(longest, max_dim) // longest)
    elif hasattr(inner, "tile_size") and hasattr(inner, "grid"):
        tiles = max(inner.width, inner.height)
        inner.tile_size = max(_SMALLEST_TILE, min(inner.tile_size, max_dim // tiles))
    else:
        for name in _SIDES:
            if isinstance(getattr(inner, name, None), int):
                setattr(inner, name, min(getattr(inner, name), max_dim))


def take_picture(env: gym.Env[Any, Any], max_dim: int) -> Array:
    """Let the environment draw itself, and return at most so many pixels a side."""
    inner: Any = env.unwrapped  # its wrappers would ask for a reset that went past them
    if hasattr(inner, "mujoco_renderer"):
        _draw_plainly(inner.mujoco_renderer)
    picture = inner.render()
    if not isinstance(picture, np.ndarray):
        raise RuntimeError(f"{type(inner).__name__} draws {type(picture).__name__}, no pixels")
    return shrink(picture, max_dim)


def _draw_plainly(renderer: Any) -> None:
    """Switch off what costs most; the scene is there from the first picture on."""
    import mujoco

    viewer = renderer._get_viewer("rgb_array")
    for flag in (mujoco.mjtRndFlag.mjRND_SHADOW, mujoco.mjtRndFlag.mjRND_REFLECTION):
        viewer.scn.flags[flag] = 0


def shrink(picture: Array, max_dim: int) -> Array:
    """Return the picture with at most so many pixels a side, averaged rather than picked."""
    longest = max(picture.shape[:2])
    if longest <= max_dim:
        return np.ascontiguousarray(picture)
    from PIL import Image

    height, width = (max(1, side * max_dim // longest) for side in picture.shape[:2])
    made = Image.fromarray(picture).resize(
        (width, height), Image.Resampling.BILINEAR, reducing_gap=1
    )
    return np.asarray(made)


def enlarge(picture: Array, max_dim: int) -> Array:
    """Return a picture, a gray one in colour, each pixel as large as the lane has room for."""
    times = max(1, max_dim // max(picture.shape[:2]))
    large = picture.repeat(times, 0).repeat(times, 1)
    if picture.ndim == 2:
        large = np.broadcast_to(large[..., None], (*large.shape, 3))
    return np.ascontiguousarray(large)
