"""Render the picture of every environment with a page: `python scripts/make_previews.py [ID ...]`.

Needs every extra (`make setup-all`), and for MuJoCo a renderer without a display (MUJOCO_GL=egl).
"""

from __future__ import annotations

import importlib
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("MUJOCO_GL", "egl")
os.environ.setdefault("SDL_VIDEODRIVER", "dummy")

import numpy as np
from PIL import Image

from mosaic.catalog.games import Game, load_games

FOLDER = Path(__file__).resolve().parent.parent / "src/mosaic/catalog/previews"
MOST_BYTES = 15_000
_LARGEST = (320, 240)
_SEED = 3
# Steps before the picture is taken: enough for something to have happened.
_STEPS = {
    "gymnasium": 12,
    "mujoco": 25,
    "atari": 120,
    "minigrid": 0,
    "babyai": 0,
    "procgen": 30,
    "dm_control": 20,
    "pettingzoo": 150,
}
_PACKAGES = {"Atari": "pettingzoo.atari", "MPE": "mpe2"}
_REGISTERING = {
    "atari": "ale_py",
    "minigrid": "minigrid",
    "babyai": "minigrid",
    "dm_control": "shimmy",
}

Picture = np.ndarray[Any, Any]


def main(words: Sequence[str]) -> int:
    warnings.simplefilter("ignore")
    games = load_games()
    FOLDER.mkdir(exist_ok=True)
    wanted = {f"{games[word].slug}.webp" for word in words} if words else None
    for game in games.values():
        if wanted is None or f"{game.slug}.webp" in wanted:
            size = save(render(game), FOLDER / f"{game.slug}.webp")
            print(f"{game.id}: {size} bytes", flush=True)
    known = {f"{game.slug}.webp" for game in games.values()}
    for path in FOLDER.glob("*.webp"):
        if path.name not in known:
            path.unlink()
    return 0


def render(game: Game) -> Picture:
    renderers: dict[str, Callable[[Game], Picture]] = {
        "procgen": _render_procgen,
        "pettingzoo": _render_pettingzoo,
    }
    return renderers.get(game.family, _render_gymnasium)(game)


def save(picture: Picture, path: Path) -> int:
    """Write the picture as small as it must be; return its size."""
    image = Image.fromarray(picture).convert("RGB")
    if image.height * 2 <= _LARGEST[1]:  # pixels of a game stay pixels
        factor = _LARGEST[1] // image.height
        image = image.resize(
            (image.width * factor, image.height * factor), Image.Resampling.NEAREST
        )
    image.thumbnail(_LARGEST, Image.Resampling.LANCZOS)
    for quality in (80, 65, 50, 35, 20):
        image.save(path, "WEBP", quality=quality, method=6)
        if path.stat().st_size <= MOST_BYTES:
            break
    return path.stat().st_size


def _render_gymnasium(game: Game) -> Picture:
    import gymnasium as gym

    if game.family in _REGISTERING:
        gym.register_envs(importlib.import_module(_REGISTERING[game.family]))
    env = gym.make(game.id, render_mode="rgb_array", disable_env_checker=True)
    env.reset(seed=_SEED)
    env.action_space.seed(_SEED)
    # A car needs longer until the camera has come down to it.
    steps = 60 if game.id.startswith("CarRacing") else _STEPS[game.family]
    for _ in range(steps if game.group != "Toy text" else 0):
        _, _, terminated, truncated, _ = env.step(env.action_space.sample())
        if terminated or truncated:
            env.reset()
    picture = np.asarray(env.render())
    env.close()
    return picture


def _render_procgen(game: Game) -> Picture:
    import envpool

    env = envpool.make(
        f"{game.id.capitalize()}Easy-v0",
        env_type="gymnasium",
        num_envs=1,
        seed=_SEED,
        render_mode="rgb_array",
    )
    env.reset()
    rng = np.random.default_rng(_SEED)
    for _ in range(_STEPS[game.family]):
        env.step(rng.integers(15, size=1, dtype=np.int32))
    picture = np.asarray(env.render())
    env.close()
    return picture[0] if picture.ndim == 4 else picture


def _render_pettingzoo(game: Game) -> Picture:
    package = _PACKAGES.get(game.group, f"pettingzoo.{game.group.lower()}")
    module = importlib.import_module(f"{package}.{game.id}")
    options: dict[str, Any] = {"render_mode": "rgb_array"}
    if game.group == "Atari":
        import ale_py

        options["auto_rom_install_path"] = str(Path(ale_py.__file__).parent / "roms")
    env = module.env(**options)
    env.reset(seed=_SEED)
    rng = np.random.default_rng(_SEED)
    steps = {"Classic": 5, "Atari": _STEPS["pettingzoo"]}.get(game.group, 20)
    for agent, _ in zip(env.agent_iter(), range(steps), strict=False):
        observation, _, terminated, truncated, _ = env.last()
        if terminated or truncated:
            break
        env.step(_choose(env.action_space(agent), observation, rng))
    picture = np.asarray(env.render())
    env.close()
    return picture


def _choose(space: Any, observation: Any, rng: np.random.Generator) -> Any:
    """Return a random action, one that the rules allow where they are told."""
    if isinstance(observation, dict):
        return int(rng.choice(np.flatnonzero(observation["action_mask"])))
    if hasattr(space, "n"):
        return int(rng.integers(int(space.n)))
    return rng.uniform(space.low, space.high).astype(space.dtype)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
