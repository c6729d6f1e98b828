"""What the machine has: real cores, a container's limits, and GPUs that a driver lists."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mosaic.contracts.errors import ConfigError
from mosaic.contracts.settings import TrainerSettings
from mosaic.trainer.resources import find_machine, usable_cpus, usable_memory_mb

TWO_GPUS = "0, GPU-aaaa, NVIDIA A100, 81920\n1, GPU-bbbb, Some, odd name, 24576\n"


@pytest.fixture
def driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put an nvidia-smi on the path that prints a file, and ends as another says."""
    program = tmp_path / "bin" / "nvidia-smi"
    program.parent.mkdir()
    program.write_text(
        f'#!/bin/sh\ncat "{tmp_path}/gpus.csv"\nexit $(cat "{tmp_path}/exit_code" || echo 0)\n'
    )
    program.chmod(0o755)
    (tmp_path / "gpus.csv").write_text(TWO_GPUS)
    (tmp_path / "exit_code").write_text("0")
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    return tmp_path


def gpus_of(**settings: tuple[int, ...]) -> list[int]:
    return [device.index for device in find_machine(TrainerSettings(**settings)).gpus]


def test_this_machine() -> None:
    machine = find_machine(TrainerSettings(gpus=()))
    assert 1 <= machine.cpus <= (os.cpu_count() or 1)
    assert machine.memory_mb > 100
    assert machine.gpus == ()


def test_the_operator_knows_better() -> None:
    machine = find_machine(TrainerSettings(cpus=64, memory_mb=5, gpus=()))
    assert (machine.cpus, machine.memory_mb) == (64, 5)


@pytest.mark.parametrize(
    ("group", "files", "cpus", "memory_mb"),
    [
        ("0::/a/b", {"a/cpu.max": "100000 100000", "a/b/memory.max": "104857600"}, 1, 100),
        ("0::/a", {"cpu.max": "50000 100000", "a/cpu.max": "max 100000"}, 1, None),
        (
            "4:cpu,cpuacct:/a\n5:memory:/a",
            {
                "cpu/a/cpu.cfs_quota_us": "100000",
                "cpu/a/cpu.cfs_period_us": "100000",
                "memory/a/memory.limit_in_bytes": "209715200",
            },
            1,
            200,
        ),
        (
            "4:cpu:/\n5:memory:/",
            {
                "cpu/cpu.cfs_quota_us": "-1",
                "cpu/cpu.cfs_period_us": "100000",
                "memory/memory.limit_in_bytes": "9223372036854771712",
            },
            None,
            None,
        ),
        ("0::/", {}, None, None),
    ],
)
def test_a_containers_limits(
    tmp_path: Path, group: str, files: dict[str, str], cpus: int | None, memory_mb: int | None
) -> None:
    proc, cgroup = tmp_path / "proc", tmp_path / "cgroup"
    (proc / "self").mkdir(parents=True)
    (proc / "self" / "cgroup").write_text(group + "\n")
    for name, text in files.items():
        (cgroup / name).parent.mkdir(parents=True, exist_ok=True)
        (cgroup / name).write_text(text + "\n")
    nothing = tmp_path / "nothing"
    assert usable_cpus(proc, cgroup) == (cpus or usable_cpus(nothing, nothing))
    assert usable_memory_mb(proc, cgroup) == (memory_mb or usable_memory_mb(nothing, nothing))


def test_gpus_are_what_the_driver_lists(driver: Path) -> None:
    first, second = find_machine(TrainerSettings()).gpus
    assert (first.index, first.uuid, first.name) == (0, "GPU-aaaa", "NVIDIA A100")
    assert (second.name, second.memory_mb) == ("Some, odd name", 24576)


@pytest.mark.parametrize(
    ("visible", "found"),
    [("1", [1]), ("1,0", [1, 0]), ("", []), ("-1", []), ("GPU-b", [1]), ("0,7,1", [0])],
)
def test_the_daemons_own_visible_devices_narrow_them(
    driver: Path, monkeypatch: pytest.MonkeyPatch, visible: str, found: list[int]
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert gpus_of() == found


def test_the_operator_chooses_among_what_is_there(driver: Path) -> None:
    assert gpus_of(gpus=(1,)) == [1]
    with pytest.raises(
        ConfigError, match=r"trainer.gpus=\[1, 5\] names GPU 5; this machine has: 0, 1"
    ):
        gpus_of(gpus=(1, 5))


@pytest.mark.parametrize(("text", "code"), [("", 9), ("No devices were found", 0)])
def test_a_driver_that_fails_means_no_gpu(driver: Path, text: str, code: int) -> None:
    (driver / "gpus.csv").write_text(text)
    (driver / "exit_code").write_text(str(code))
    assert gpus_of() == []
