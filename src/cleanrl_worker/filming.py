"""One video an episode, written while the episode is played."""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from cleanrl_worker.envs.observations import Array
from mosaic.contracts.errors import ConfigError, DependencyMissing, StorageError

DEFAULT_FPS = 30
# yuv420p, which every player reads, has one colour for two by two pixels.
EVEN = 2

Writer = Generator[None, Array | None, None]


def video_name(episode: int) -> str:
    return f"episode-{episode:05d}.mp4"


class Filmed(gym.Wrapper[Any, Any, Any, Any]):
    """Film the first episode of an environment to `path`, which is whole or absent.

    Frames go to ffmpeg one by one, since an episode of pictures takes hundreds of MB. An episode
    that is not finished when the environment is closed leaves no video.
    """

    def __init__(self, env: gym.Env[Any, Any], path: Path) -> None:
        super().__init__(env)
        self._path = path
        self._aside = path.with_name(f".{path.name}.tmp")
        self._writer: Writer | None = None

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        result = self.env.reset(**options)
        self._film()
        return result

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        result = self.env.step(action)
        self._film()
        return result

    def finish(self) -> None:
        """Give the video its name; what is filmed afterwards would replace it."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None
            os.replace(self._aside, self._path)

    def close(self) -> None:
        self.env.close()
        if self._writer is not None:
            self._writer.close()
            self._writer = None
            self._aside.unlink(missing_ok=True)

    def _film(self) -> None:
        frame = self.env.render()
        if not isinstance(frame, np.ndarray):
            raise ConfigError("eval_capture_video=true: the environment renders no pictures.")
        try:
            if self._writer is None:
                self._writer = self._open(frame)
            self._writer.send(np.ascontiguousarray(frame))
        except OSError as error:
            raise StorageError(
                f"The video {str(self._path)!r} cannot be written: {str(error).splitlines()[0]}"
            ) from None

    def _open(self, frame: Array) -> Writer:
        write_frames = find_writer()
        self._path.parent.mkdir(parents=True, exist_ok=True)
        height, width = frame.shape[:2]
        writer: Writer = write_frames(
            str(self._aside),
            (width, height),
            fps=self.env.metadata.get("render_fps") or DEFAULT_FPS,
            codec="libx264",
            macro_block_size=EVEN,
            ffmpeg_log_level="error",
            output_params=["-f", "mp4"],
        )
        writer.send(None)
        return writer


def find_writer() -> Any:
    """Return imageio-ffmpeg's writer; a machine without it is told what to install."""
    try:
        from imageio_ffmpeg import write_frames
    except ImportError:
        raise DependencyMissing(
            "eval_capture_video=true needs the package 'imageio-ffmpeg', which is not installed.",
            hint="Install it with: pip install 'mosaic-rl[video]'",
        ) from None
    return write_frames
