"""What was played as a Minari dataset: one HDF5 file with the episodes, and its metadata.

The layout is Minari's (data/main_data.hdf5, data/metadata.json), so that `minari.load_dataset` and
`MinariDataset(path)` read it; Minari itself is not needed to write it. The metadata are written
last: once they are the newer of the two, the data are whole.
"""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from mosaic.contracts.files import write_json_whole
from mosaic.contracts.identifiers import file_name

MINARI_VERSION = "0.5.3"  # whose layout this is


def can_write() -> bool:
    return find_spec("h5py") is not None


class Dataset:
    """Episodes of one environment, appended one by one."""

    def __init__(self, root: Path, env: Any, env_id: str) -> None:
        self._env = env
        name = file_name(env_id).lower().rsplit("-v", 1)[0]
        self.dataset_id = f"{name}/human-v0"
        self._data = root / name / "human-v0" / "data"
        self._episodes = 0
        self._steps = 0

    def add(self, seed: int, steps: dict[str, list[Any]], options: dict[str, Any]) -> None:
        """Append an episode; `steps` has one observation more than actions."""
        import h5py

        self._data.mkdir(parents=True, exist_ok=True)
        with h5py.File(self._data / "main_data.hdf5", "a", track_order=True) as file:
            group = file.create_group(f"episode_{self._episodes}")
            group.attrs["id"] = self._episodes
            group.attrs["total_steps"] = len(steps["rewards"])
            group.attrs["seed"] = seed
            group.attrs["options"] = json.dumps(options)
            _write(group, "observations", steps["observations"])
            _write(group, "actions", [np.asarray(action, np.int64) for action in steps["actions"]])
            group.create_dataset("rewards", data=np.asarray(steps["rewards"], np.float64))
            for name in ("terminations", "truncations"):
                group.create_dataset(name, data=np.asarray(steps[name], np.bool_))
            group.create_group("infos")
        self._episodes += 1
        self._steps += len(steps["rewards"])
        self._write_metadata()

    def _write_metadata(self) -> None:
        size = (self._data / "main_data.hdf5").stat().st_size
        metadata = {
            "total_episodes": self._episodes,
            "total_steps": self._steps,
            "data_format": "hdf5",
            "observation_space": json.dumps(space_document(self._env.observation_space)),
            "action_space": json.dumps(space_document(self._env.action_space)),
            "env_spec": self._env.spec.to_json(),
            "dataset_id": self.dataset_id,
            "dataset_size": round(size / 1e6, 3),
            "algorithm_name": "human",
            "minari_version": MINARI_VERSION,
        }
        write_json_whole(self._data / "metadata.json", metadata)


def _write(group: Any, name: str, values: list[Any]) -> None:
    """Write values that are arrays, or objects of arrays, as Minari nests them."""
    first = values[0]
    if isinstance(first, dict):
        inner = group.create_group(name)
        for key in first:
            _write(inner, key, [value[key] for value in values])
    elif isinstance(first, tuple):
        inner = group.create_group(name)
        for place in range(len(first)):
            _write(inner, f"_index_{place}", [value[place] for value in values])
    elif isinstance(first, str):
        group.create_dataset(name, data=[value.encode() for value in values])
    else:
        group.create_dataset(name, data=np.asarray(values))


def space_document(space: Any) -> dict[str, Any]:
    """Return a space as Minari writes it."""
    spaces = gymnasium.spaces
    if isinstance(space, spaces.Discrete):
        return {
            "type": "Discrete",
            "dtype": "int64",
            "start": int(space.start),
            "n": int(space.n),
        }
    if isinstance(space, spaces.Box):
        return {
            "type": "Box",
            "dtype": str(space.dtype),
            "shape": list(space.shape),
            "low": space.low.tolist(),
            "high": space.high.tolist(),
        }
    if isinstance(space, spaces.Dict):
        inner = {name: space_document(each) for name, each in space.spaces.items()}
        return {"type": "Dict", "subspaces": inner}
    if isinstance(space, spaces.Tuple):
        return {"type": "Tuple", "subspaces": [space_document(each) for each in space.spaces]}
    return {"type": "Text", "max_length": 10_000, "min_length": 0, "charset": ""}
