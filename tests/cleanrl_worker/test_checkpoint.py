"""Checkpoints are whole or refused: one clear line that names the checkpoint and its fault."""

from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from cleanrl_worker.checkpoint import STATE, prune, read_checkpoint, write_checkpoint
from cleanrl_worker.checkpoint_document import DOCUMENT, DOCUMENT_LIMIT_BYTES, find_checkpoints
from mosaic.contracts.errors import ConfigError, StorageError
from tests.cleanrl_worker.checkpoint_files import (
    DESCRIPTION,
    document_of,
    make_checkpoint,
    replace_tensors,
    reseal,
    safetensors_bytes,
)
from tests.cleanrl_worker.test_replay_crashes import no_room


def refusal(path: Path) -> str:
    with pytest.raises(ConfigError) as refused:
        read_checkpoint(path)
    line = refused.value.one_line()
    assert "step-100.ckpt" in line
    assert len(line) < 400
    return line


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    return make_checkpoint(tmp_path)


class TestWhole:
    def test_what_was_written_is_read(self, checkpoint: Path) -> None:
        read = read_checkpoint(checkpoint)
        assert (read.step, read.is_exact, read.document["algo"]) == (100, True, "ppo")
        assert read.state["counter"] == 100
        assert torch.equal(read.state["agent"]["weights"], torch.arange(6.0))

    def test_nothing_else_is_left_in_the_directory(self, checkpoint: Path) -> None:
        assert os.listdir(checkpoint.parent) == ["step-100.ckpt"]
        assert sorted(os.listdir(checkpoint)) == [DOCUMENT, STATE]

    def test_a_checkpoint_never_changes(self, checkpoint: Path) -> None:
        before = (checkpoint / DOCUMENT).read_bytes()
        with pytest.raises(StorageError, match=r"step-100\.ckpt exists already"):
            make_checkpoint(checkpoint.parent, exact=False)
        assert (checkpoint / DOCUMENT).read_bytes() == before
        assert os.listdir(checkpoint.parent) == ["step-100.ckpt"]

    def test_what_a_kill_left_under_the_same_process_id_is_no_hindrance(
        self, tmp_path: Path
    ) -> None:
        leftover = tmp_path / f".step-100.ckpt.{os.getpid()}.tmp"
        leftover.mkdir()
        (leftover / "old").write_text("x")
        assert sorted(os.listdir(make_checkpoint(tmp_path))) == [DOCUMENT, STATE]


class TestState:
    def check_round_trip(self, tmp_path: Path, state: dict[str, Any]) -> Any:
        read = read_checkpoint(write_checkpoint(tmp_path, 1, DESCRIPTION, state)).state
        assert str(read) == str(state)
        return read

    def test_keys_that_look_like_ours(self, tmp_path: Path) -> None:
        keys = ("$tensor", "$array", "$tuple", "$items", "$float", "$", "a/b")
        self.check_round_trip(tmp_path, {key: {key: 1} for key in keys})

    def test_paths_that_read_alike(self, tmp_path: Path) -> None:
        one, two, three = torch.zeros(1), torch.ones(1), torch.full((1,), 2.0)
        state = {"a": {"b": one}, "a/b": two, "n": {1: three, "1": one}}
        self.check_round_trip(tmp_path, state)

    def test_numbers_that_json_has_none_for(self, tmp_path: Path) -> None:
        self.check_round_trip(
            tmp_path, {"values": [float("nan"), float("inf"), -float("inf"), 0.1]}
        )

    def test_tensors_that_share_their_memory(self, tmp_path: Path) -> None:
        tied = torch.arange(4.0)
        self.check_round_trip(tmp_path, {"a": tied, "b": tied, "c": tied[1:3], "d": tied[::2]})


class TestDamage:
    def test_truncated_tensors(self, checkpoint: Path) -> None:
        data = (checkpoint / STATE).read_bytes()
        (checkpoint / STATE).write_bytes(data[:-10])
        assert f"{STATE} has {len(data) - 10} bytes, not {len(data)}." in refusal(checkpoint)

    @pytest.mark.parametrize("name", [STATE, DOCUMENT])
    def test_a_single_changed_bit_anywhere(self, checkpoint: Path, name: str) -> None:
        data = (checkpoint / name).read_bytes()
        for position in range(0, len(data), 7):
            changed = bytearray(data)
            changed[position] ^= 1
            (checkpoint / name).write_bytes(changed)
            with pytest.raises(ConfigError):
                read_checkpoint(checkpoint)

    @pytest.mark.parametrize("share", [0.0, 0.5, 0.99])
    def test_a_truncated_document(self, checkpoint: Path, share: float) -> None:
        data = (checkpoint / DOCUMENT).read_bytes()
        (checkpoint / DOCUMENT).write_bytes(data[: int(len(data) * share)])
        assert f"{DOCUMENT} is not JSON" in refusal(checkpoint)

    @pytest.mark.parametrize("name", [STATE, DOCUMENT])
    def test_a_missing_file(self, checkpoint: Path, name: str) -> None:
        (checkpoint / name).unlink()
        assert f"{name}: No such file" in refusal(checkpoint)

    def test_no_directory(self, checkpoint: Path) -> None:
        assert "is no checkpoint" in refusal(checkpoint / ".." / "other" / "step-100.ckpt")
        assert "is no checkpoint" in refusal_of_a_file(checkpoint)

    def test_a_newer_version(self, checkpoint: Path) -> None:
        reseal(checkpoint, format_version=99)
        assert "has format version 99; this MOSAIC reads up to 1. Update" in refusal(checkpoint)

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("format_version", "1"),
            ("step", -1),
            ("step", True),
            ("exact", 1),
            ("settings", []),
            ("files", None),
            ("state", [1]),
            ("algo", None),
            ("seed", "1"),
        ],
    )
    def test_a_field_of_another_kind(self, checkpoint: Path, field: str, value: Any) -> None:
        reseal(checkpoint, **{field: value})
        assert field in refusal(checkpoint)


def refusal_of_a_file(checkpoint: Path) -> str:
    with pytest.raises(ConfigError) as refused:
        read_checkpoint(checkpoint / STATE)
    return refused.value.one_line()


class MarkerWhenLoaded:
    """An object whose unpickling runs a command."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.marker),)


FLOATS = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
# Each with checksums that fit, so that nothing but the format itself protects.
HOSTILE_TENSORS = {
    "offsets that overlap": safetensors_bytes(
        {"a": FLOATS, "b": {**FLOATS, "data_offsets": [4, 12]}}, b"\0" * 12
    ),
    "offsets beyond the end": safetensors_bytes(
        {"a": {**FLOATS, "data_offsets": [0, 1 << 40]}}, b"\0" * 8
    ),
    "offsets that run backwards": safetensors_bytes(
        {"a": {**FLOATS, "data_offsets": [8, 0]}}, b"\0" * 8
    ),
    "a shape that its bytes do not fill": safetensors_bytes(
        {"a": {**FLOATS, "shape": [1 << 30, 1 << 30]}}, b"\0" * 8
    ),
    "a shape that overflows": safetensors_bytes(
        {"a": {**FLOATS, "shape": [1 << 63, 1 << 63]}}, b"\0" * 8
    ),
    "a header that claims 4 GB": safetensors_bytes({}, b"", header_size=4 << 30),
    "a header that claims everything": safetensors_bytes({}, b"", header_size=2**64 - 1),
    "a header that is no JSON": safetensors_bytes(b"{" * 64, b""),
    "a header that is deep": safetensors_bytes(b"[" * 100_000, b""),
    "a type that does not exist": safetensors_bytes({"a": {**FLOATS, "dtype": "X9"}}, b"\0" * 8),
    "nothing": b"",
    "a zip": b"PK\x03\x04" + b"\0" * 200,
}


class TestHostile:
    def test_a_pickle_runs_nothing(self, checkpoint: Path, tmp_path: Path) -> None:
        marker = tmp_path / "marker"
        data = pickle.dumps(MarkerWhenLoaded(marker))
        replace_tensors(checkpoint, data)
        assert f"{STATE} is not safetensors" in refusal(checkpoint)
        assert not marker.exists()
        (checkpoint / DOCUMENT).write_bytes(data)
        assert f"{DOCUMENT} is not JSON" in refusal(checkpoint)
        assert not marker.exists()
        pickle.loads(data)
        assert marker.exists(), "it would have"

    @pytest.mark.parametrize("data", HOSTILE_TENSORS.values(), ids=HOSTILE_TENSORS.keys())
    def test_tensors_that_are_not_what_they_say(self, checkpoint: Path, data: bytes) -> None:
        replace_tensors(checkpoint, data)
        assert f"{STATE} is not safetensors" in refusal(checkpoint)

    @pytest.mark.parametrize("size", [4 << 30, 1 << 70, -1, None, True, 1.5, "9"])
    def test_a_size_that_is_only_claimed(self, checkpoint: Path, size: Any) -> None:
        reseal(checkpoint, files={STATE: {"size_bytes": size, "sha256": "0" * 64}})
        assert STATE in refusal(checkpoint)

    @pytest.mark.parametrize(
        "text",
        [
            b"[" * 200_000,
            b'{"a":' * 200_000,
            b"9" * 100_000,
            b"\xff\xfe",
            b'{"format_version": NaN}',
            b"null",
            b" " * (DOCUMENT_LIMIT_BYTES + 1),
        ],
        ids=["lists", "objects", "digits", "no text", "nan", "null", "too large"],
    )
    def test_json_that_is_none_of_ours(self, checkpoint: Path, text: bytes) -> None:
        (checkpoint / DOCUMENT).write_bytes(text)
        assert DOCUMENT in refusal(checkpoint)

    @pytest.mark.parametrize("depth", [100, 200, 300, 400])
    def test_a_state_that_is_deep_is_read_or_refused(self, checkpoint: Path, depth: int) -> None:
        state: dict[str, Any] = {}
        for _ in range(depth):
            state = {"a": [state]}
        reseal(checkpoint, state=state)
        with contextlib.suppress(ConfigError):
            read_checkpoint(checkpoint)

    @pytest.mark.parametrize(
        "mark",
        [
            {"$tensor": "state/none"},
            {"$tensor": ["x"]},
            {"$array": None},
            {"$tuple": 3},
            {"$items": [1, 2]},
            {"$items": [[[], 1]]},
            {"$float": "twelve"},
            {"$code": "print()"},
        ],
        ids=str,
    )
    def test_a_state_that_we_did_not_write(self, checkpoint: Path, mark: dict[str, Any]) -> None:
        reseal(checkpoint, state={"agent": mark})
        assert "is damaged" in refusal(checkpoint)

    def test_names_of_files_lead_nowhere(self, checkpoint: Path, tmp_path: Path) -> None:
        digest = document_of(checkpoint)["files"][STATE]
        (tmp_path / "outside").write_bytes((checkpoint / STATE).read_bytes())
        reseal(checkpoint, files={"../outside": digest})
        assert f"does not list {STATE}" in refusal(checkpoint)

    @pytest.mark.parametrize("name", [STATE, DOCUMENT])
    def test_a_link_is_not_followed(self, checkpoint: Path, tmp_path: Path, name: str) -> None:
        (checkpoint / name).rename(tmp_path / "elsewhere")
        (checkpoint / name).symlink_to(tmp_path / "elsewhere")
        assert f"{name}: is a link, not a file" in refusal(checkpoint)

    @pytest.mark.parametrize("name", [STATE, DOCUMENT])
    def test_a_pipe_is_not_waited_for(self, checkpoint: Path, name: str) -> None:
        reseal(checkpoint, files={STATE: {"size_bytes": 0, "sha256": ""}})
        (checkpoint / name).unlink()
        os.mkfifo(checkpoint / name)
        assert f"{name}: is not a plain file" in refusal(checkpoint)

    def test_a_folder_in_place_of_a_file(self, checkpoint: Path) -> None:
        (checkpoint / DOCUMENT).unlink()
        (checkpoint / DOCUMENT).mkdir()
        assert f"{DOCUMENT}: is not a plain file" in refusal(checkpoint)


class TestNoRoom:
    def test_on_a_full_disk_the_one_before_stands(self, checkpoint: Path) -> None:
        with no_room(), pytest.raises(StorageError) as full:
            write_checkpoint(checkpoint.parent, 200, DESCRIPTION, {"a": torch.ones(1000)})
        assert full.value.one_line() == (
            f"The checkpoint at step 200 cannot be written to '{checkpoint.parent}': "
            "File too large. The one before stands."
        )
        assert os.listdir(checkpoint.parent) == ["step-100.ckpt"]
        assert read_checkpoint(checkpoint).step == 100

    def test_on_a_small_file_system(self, small_disk: Path) -> None:
        first = make_checkpoint(small_disk)
        with pytest.raises(StorageError, match="No space left on device"):
            write_checkpoint(small_disk, 200, DESCRIPTION, {"a": torch.ones(1 << 20)})
        assert os.listdir(small_disk) == ["step-100.ckpt"]
        assert read_checkpoint(first).step == 100
        assert make_checkpoint(small_disk, 300).is_dir(), "there is room for this one"

    def test_on_a_file_system_that_is_read_only(self, small_disk: Path) -> None:
        first = make_checkpoint(small_disk)
        subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
        with pytest.raises(StorageError, match="Read-only file system"):
            make_checkpoint(small_disk, 200)
        assert read_checkpoint(first).step == 100
        assert prune(small_disk, 1) == [first]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Mount a file system of one megabyte."""
    directory = tmp_path / "disk"
    directory.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "none", directory]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("needs the right to mount a file system")
    yield directory
    subprocess.run(["umount", directory], check=True)


class TestPrune:
    def test_the_newest_exact_ones_and_the_newest_extra_one_are_kept(self, tmp_path: Path) -> None:
        for step in (9, 80, 100, 700):
            make_checkpoint(tmp_path, step)
        for step in (90, 710):
            make_checkpoint(tmp_path, step, exact=False)
        kept = prune(tmp_path, 2)
        assert [path.name for path in kept] == [f"step-{n}.ckpt" for n in (100, 700, 710)]
        assert find_checkpoints(tmp_path) == kept

    def test_leftovers_of_a_kill_go(self, tmp_path: Path) -> None:
        make_checkpoint(tmp_path)
        for name in (".step-7.ckpt.1.tmp", ".step-8.ckpt.removed.tmp"):
            (tmp_path / name).mkdir()
            (tmp_path / name / STATE).write_bytes(b"half")
        prune(tmp_path, 1)
        assert os.listdir(tmp_path) == ["step-100.ckpt"]

    def test_one_that_cannot_be_read_is_left_and_does_not_count(self, tmp_path: Path) -> None:
        for step in (1, 2, 3):
            make_checkpoint(tmp_path, step)
        (tmp_path / "step-3.ckpt" / DOCUMENT).write_text("{")
        prune(tmp_path, 1)
        assert sorted(os.listdir(tmp_path)) == ["step-2.ckpt", "step-3.ckpt"]

    def test_what_only_has_the_name_of_a_checkpoint_is_left_alone(self, tmp_path: Path) -> None:
        outside = make_checkpoint(tmp_path / "outside", 5)
        (tmp_path / "step-5.ckpt").symlink_to(outside)
        (tmp_path / "step-6.ckpt").write_text("a file")
        for name in ("replay", "step-x.ckpt", "step-٣.ckpt"):
            (tmp_path / name).mkdir()
        make_checkpoint(tmp_path, 100)
        assert prune(tmp_path, 1) == [tmp_path / "step-100.ckpt"]
        assert len(os.listdir(tmp_path)) == 7
        assert read_checkpoint(outside).step == 5
