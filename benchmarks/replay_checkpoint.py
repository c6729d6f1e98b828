"""What saving a replay buffer costs: real Atari frames through the archive, checkpoints on the way.

python benchmarks/replay_checkpoint.py                  a million frames: some ten minutes
python benchmarks/replay_checkpoint.py --frames 50000   a look
python benchmarks/replay_checkpoint.py --codecs 6000    ways to compress, frames a game
"""

from __future__ import annotations

import argparse
import hashlib
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import zstandard
from ale_py.vector_env import AtariVectorEnv
from gymnasium.spaces import Discrete
from numpy.typing import NDArray

from cleanrl_worker.replay import ReplayArchive, restore

Array = NDArray[Any]
GAMES = ("breakout", "pong", "beam_rider", "ms_pacman")
# Actions are random and held for eight steps on average: play gets further into a game, and
# frames differ more, than with a new action every step.
CHANGE_PROBABILITY = 1 / 8


class Play:
    """Environments of one game that fill a ring, as a training thread would."""

    def __init__(self, game: str, num_envs: int, seed: int) -> None:
        self._envs = AtariVectorEnv(game, num_envs=num_envs, stack_num=1, num_threads=1)
        self._rng = np.random.default_rng(seed)
        self._obs, _ = self._envs.reset(seed=seed)
        actions = self._envs.single_action_space
        assert isinstance(actions, Discrete)
        self._choices = int(actions.n)
        self._actions = self._rng.integers(self._choices, size=num_envs)
        self.num_envs = num_envs

    def append(self, ring: dict[str, Array], total: int) -> int:
        """Step once, put one row an environment into the ring, and return the new total."""
        changes = self._rng.random(self.num_envs) < CHANGE_PROBABILITY
        drawn = self._rng.integers(self._choices, size=self.num_envs)
        self._actions = np.where(changes, drawn, self._actions)
        obs, rewards, terminated, truncated, _ = self._envs.step(self._actions)
        rows = np.arange(total, total + self.num_envs) % len(ring["frames"])
        ring["frames"][rows] = self._obs[:, 0]
        ring["actions"][rows] = self._actions
        ring["rewards"][rows] = rewards
        ring["ends"][rows] = terminated | truncated
        self._obs = obs
        return total + self.num_envs

    def close(self) -> None:
        self._envs.close()


def make_ring(capacity: int) -> dict[str, Array]:
    return {
        "frames": np.zeros((capacity, 84, 84), np.uint8),
        "actions": np.zeros(capacity, np.int64),
        "rewards": np.zeros(capacity, np.float32),
        "ends": np.zeros(capacity, np.bool_),
    }


def digest(ring: dict[str, Array]) -> str:
    sha256 = hashlib.sha256()
    for array in ring.values():
        sha256.update(array.reshape(-1).view(np.uint8).data)
    return sha256.hexdigest()


def size_mb(directory: Path) -> float:
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file()) / 1e6


class Stopwatch:
    """Collects the seconds of each of its `with` blocks, and the CPU seconds of all threads."""

    def __init__(self) -> None:
        self.laps: list[float] = []
        self.cpu: list[float] = []

    def __enter__(self) -> None:
        self._start = time.perf_counter(), time.process_time()

    def __exit__(self, *_: object) -> None:
        self.laps.append(time.perf_counter() - self._start[0])
        self.cpu.append(time.process_time() - self._start[1])


def fill_and_checkpoint(args: argparse.Namespace, root: Path) -> None:
    """Fill the ring once and a tenth more, with ten checkpoints a ring, and restore the last."""
    ring = make_ring(args.frames)
    appends = round(1.1 * args.frames) // args.num_envs
    advance, cut = Stopwatch(), Stopwatch()
    total = 0
    with ReplayArchive(root / "replay", ring) as archive:
        for play in plays(args, appends):
            total = play.append(ring, total)
            with advance:
                archive.advance(total)
            if len(advance.laps) % (appends // 11) == 0:
                checkpoint = root / f"step-{total}.ckpt"
                checkpoint.mkdir()
                with cut:
                    snapshot = archive.snapshot(checkpoint)
                    archive.collect([snapshot])
                report_cut(snapshot, cut.laps[-1])
    disk_mb = size_mb(root / "replay") + size_mb(checkpoint)
    print(f"disk of the last checkpoint: {disk_mb:.1f} MB")
    print(f"bytes a frame: {disk_mb * 1e6 / args.frames:.0f}")
    print(f"seconds added at a cut: median {statistics.median(cut.laps):.3f}, ", end="")
    print(f"most {max(cut.laps):.3f} of {len(cut.laps)}")
    print(f"advance: median {statistics.median(advance.laps) * 1e6:.1f} us, ", end="")
    print(f"most {max(advance.laps) * 1e3:.1f} ms, {sum(advance.laps):.2f} s in all")
    restore_and_compare(root / "replay", checkpoint, snapshot, ring)


def report_cut(snapshot: dict[str, Any], seconds: float) -> None:
    tail = snapshot["tail"]
    rows = tail["stop"] - tail["start"] if tail else 0
    print(
        f"cut at row {snapshot['total']}: {seconds * 1e3:.0f} ms (tail of {rows} rows, "
        f"{len(snapshot['segments'])} segments listed)",
        flush=True,
    )


def restore_and_compare(
    segments: Path, checkpoint: Path, snapshot: dict[str, Any], ring: dict[str, Array]
) -> None:
    """Restore into the same arrays, emptied: a second ring might not fit the memory."""
    before = digest(ring)
    for array in ring.values():
        array.fill(0)
    watch = Stopwatch()
    with watch:
        restore(segments, checkpoint, snapshot, ring)
    verdict = "bit-equal" if digest(ring) == before else "DIFFERENT"
    print(f"restore: {watch.laps[0]:.1f} s, {verdict}")


def plays(args: argparse.Namespace, appends: int) -> Iterator[Play]:
    """Give the game of each append: the games one after the other."""
    share = -(-appends // len(args.games))
    for index, game in enumerate(args.games):
        play = Play(game, args.num_envs, args.seed)
        start = time.perf_counter()
        count = min(share, appends - index * share)
        for _ in range(count):
            yield play
        rate = count * args.num_envs / (time.perf_counter() - start)
        print(f"{game}: {rate:.0f} frames/s, archive and cuts included", flush=True)
        play.close()


def slowdown(args: argparse.Namespace, root: Path) -> None:
    """Compare acting with and without the archive, block by block, in one process.

    Acting alone appends faster than any learner: the writer has as much to do as it ever gets.
    A block is about a segment long and ends when the writer rests, so that it pays for its own.
    """
    rows = 4_800
    rings = make_ring(8 * rows), make_ring(8 * rows)
    play = Play(args.games[0], args.num_envs, args.seed)
    totals = [0, 0]
    watches = Stopwatch(), Stopwatch()
    with ReplayArchive(root / "slowdown", rings[1]) as archive:
        for block in range(args.pairs * 2):
            archived = (block + 1) // 2 % 2  # without, with, with, without, ...
            with watches[archived]:
                for _ in range(rows // args.num_envs):
                    totals[archived] = play.append(rings[archived], totals[archived])
                    if archived:
                        archive.advance(totals[1])
                if archived:
                    archive.collect([])
    play.close()
    without, within = watches
    print(f"acting alone: {rows / statistics.median(without.laps):.0f} frames/s")
    print(f"with the archive, median and quartiles of {args.pairs} pairs of {rows} frames:")
    print(f"  wall clock {increase(without.laps, within.laps)}")
    print(f"  CPU of all threads {increase(without.cpu, within.cpu)}", flush=True)


def increase(before: list[float], after: list[float]) -> str:
    percent = [(b / a - 1) * 100 for a, b in zip(before, after, strict=True)]
    low, middle, high = statistics.quantiles(percent, n=4)
    return f"{middle:+.1f} % ({low:+.1f} to {high:+.1f})"


def tail_of_noise(args: argparse.Namespace, root: Path) -> None:
    """Time the worst cut: a tail that is as long as can be, of floats that do not compress."""
    segment_rows = 8_000  # 8000 rows of 1000 floats fill a segment of 32 MB
    noise = np.random.default_rng(args.seed).random((9 * segment_rows, 1_000), np.float32)
    watch = Stopwatch()
    with ReplayArchive(root / "noise", {"observations": noise}) as archive:
        for segments in range(1, 6):
            archive.advance(segments * segment_rows - 1)
            archive.collect([])  # waits for the writer
            with watch:
                archive.snapshot(root)
    seconds = statistics.median(watch.laps)
    print(f"cut with a tail of 32 MB of noise: median {seconds:.2f} s, most {max(watch.laps):.2f}")


def compare_codecs(args: argparse.Namespace) -> None:
    """Print bytes a frame and raw MB a CPU second of ways to compress, the transform included."""
    rows = {game: sample(game, args) for game in args.games}
    raw_mb = sum(frames.nbytes for frames in rows.values()) / 1e6
    transforms: dict[str, Callable[[Array], Array]] = {
        "raw": lambda frames: frames,
        "xor": lambda frames: xored(frames, args.num_envs),
        "xor transposed": lambda frames: np.ascontiguousarray(xored(frames, args.num_envs).T),
    }
    print(f"{'':18}" + "".join(f"{game:>12}" for game in args.games) + f"{'MB/s':>10}")
    for name, transform in transforms.items():
        for level in (1, 3, 6, 9):
            compressor = zstandard.ZstdCompressor(level=level)
            start = time.process_time()
            sizes = [len(compressor.compress(transform(r).data)) / len(r) for r in rows.values()]
            speed = raw_mb / (time.process_time() - start)
            label = f"{name}, {level}"
            print(f"{label:18}" + "".join(f"{size:12.0f}" for size in sizes) + f"{speed:10.0f}")


def sample(game: str, args: argparse.Namespace) -> Array:
    ring = make_ring(args.codecs)
    play = Play(game, args.num_envs, args.seed)
    total = 0
    while total < args.codecs:
        total = play.append(ring, total)
    play.close()
    return ring["frames"].reshape(args.codecs, -1)


def xored(rows: Array, lag: int) -> Array:
    """Replace each frame by its difference to the one before it of the same environment."""
    changed = rows.copy()
    np.bitwise_xor(rows[lag:], rows[:-lag], out=changed[lag:])
    return changed


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--frames", type=int, default=1_000_000, help="rows of the ring")
    parser.add_argument("--games", nargs="+", default=GAMES, help="ale-py's names of games")
    parser.add_argument("--num-envs", type=int, default=8, help="environments side by side")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pairs", type=int, default=10, help="pairs in the slowdown measurement")
    parser.add_argument("--codecs", type=int, metavar="N", help="compare codecs on N frames a game")
    parser.add_argument("--directory", type=Path, help="where to write (a temporary directory)")
    args = parser.parse_args()
    if args.codecs:
        compare_codecs(args)
        return
    with tempfile.TemporaryDirectory(dir=args.directory) as name:
        slowdown(args, Path(name))
        tail_of_noise(args, Path(name))
        fill_and_checkpoint(args, Path(name))


if __name__ == "__main__":
    main()
