"""Run a training program and say how many seconds it spends in matrix products.

`python matmul_probe.py RESULT.json script|module TARGET [arguments of the program ...]`

Runs inside the interpreter of the program, ours or CleanRL's, with nothing of the program changed,
and needs only torch and NumPy. Torch's products are timed by torch.profiler (the kernels' own time,
dispatch above them not included), NumPy's by handing out weights as an array type that times the
products it takes part in. The profiler slows everything between the products, so the result is
to be divided by the wall-clock time of a run without it.
"""

from __future__ import annotations

import json
import runpy
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import torch

MATRIX_PRODUCTS = frozenset(
    {
        "aten::mm",
        "aten::addmm",
        "aten::bmm",
        "aten::baddbmm",
        "aten::mv",
        "aten::addmv",
        "aten::dot",
        "aten::mkldnn_convolution",
        "aten::_slow_conv2d_forward",
        "aten::_slow_conv2d_backward",
        "aten::convolution_backward",
        "aten::mkldnn_rnn_layer",
        "mkldnn::_linear_pointwise",
    }
)
NUMPY_PRODUCTS = (np.matmul, np.dot, np.inner, np.einsum)

# A call of an operation: thread, start and duration in nanoseconds, name.
Call = tuple[int, int, int, str]


class Meter:
    """Seconds and calls of NumPy's matrix products."""

    seconds: ClassVar[float] = 0.0
    calls: ClassVar[int] = 0

    @classmethod
    def time(
        cls, product: Callable[..., Any], arguments: Sequence[Any], options: Mapping[str, Any]
    ) -> Any:
        started = time.perf_counter()
        result = product(*arguments, **options)
        cls.seconds += time.perf_counter() - started
        cls.calls += 1
        return result


class TimedArray(np.ndarray[Any, Any]):
    """An array whose matrix products are timed. Results are plain arrays."""

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        if "out" in options:
            options["out"] = tuple(_plain(array) for array in options["out"])
        operands = [_plain(array) for array in inputs]
        call = getattr(ufunc, method)
        if ufunc in NUMPY_PRODUCTS:
            return Meter.time(call, operands, options)
        return call(*operands, **options)

    def __array_function__(
        self,
        function: Callable[..., Any],
        types: Iterable[type],
        arguments: Iterable[Any],
        options: Mapping[str, Any],
    ) -> Any:
        if function in NUMPY_PRODUCTS:
            return Meter.time(function, [_plain(array) for array in arguments], options)
        return super().__array_function__(function, types, arguments, options)


def _plain(value: Any) -> Any:
    return value.view(np.ndarray) if isinstance(value, TimedArray) else value


def time_numpy_products() -> None:
    """Let every matrix that NumPy takes over from torch from now on be a timed one."""
    to_numpy = torch.Tensor.numpy

    def timed(self: torch.Tensor, *arguments: Any, **options: Any) -> Any:
        array = to_numpy(self, *arguments, **options)
        return array.view(TimedArray) if array.ndim == 2 else array

    torch.Tensor.numpy = timed  # type: ignore[assignment, method-assign]


def warm_up() -> None:
    """Pay for the libraries' first products before the clock runs."""
    layer = torch.nn.Linear(64, 64)
    layer(torch.ones(128, 64)).sum().backward()
    np.ones((4, 64), np.float32) @ np.ones((64, 64), np.float32)


def run_program(kind: str, target: str, arguments: Sequence[str]) -> int:
    """Run the program as if it had been started itself, and return its exit code."""
    sys.argv = [target, *arguments]
    run: Callable[..., Any] = runpy.run_path if kind == "script" else runpy.run_module
    try:
        run(target, run_name="__main__")
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0


def own_times(calls: Sequence[Call]) -> dict[str, tuple[int, float]]:
    """Return how often each operation was called, and its seconds outside those that it called.

    The profiler's own summary says the same, but takes minutes for a pass of seconds.
    """
    count: Counter[str] = Counter()
    nanoseconds: Counter[str] = Counter()
    callers: list[tuple[int, int, str]] = []  # thread, end, name
    # Of two that start together the longer one is the caller.
    for thread, start, duration, name in sorted(calls, key=lambda call: (*call[:2], -call[2])):
        while callers and (callers[-1][0] != thread or callers[-1][1] <= start):
            callers.pop()
        if callers:
            nanoseconds[callers[-1][2]] -= duration
        count[name] += 1
        nanoseconds[name] += duration
        callers.append((thread, start + duration, name))
    return {name: (count[name], nanoseconds[name] / 1e9) for name in count}


def profiled_calls(profiler: torch.profiler.profile) -> list[Call]:
    assert profiler.profiler is not None
    results = profiler.profiler.kineto_results
    assert results is not None
    return [
        (event.start_thread_id(), event.start_ns(), event.duration_ns(), event.name())
        for event in results.events()
    ]


def main() -> int:
    result, kind, target, *arguments = sys.argv[1:]
    warm_up()
    time_numpy_products()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
        code = run_program(kind, target, arguments)
    totals = own_times(profiled_calls(profiler))
    products = [totals[name] for name in MATRIX_PRODUCTS & totals.keys()]
    found = {
        "torch_s": sum(seconds for _, seconds in products),
        "torch_calls": sum(calls for calls, _ in products),
        "numpy_s": Meter.seconds,
        "numpy_calls": Meter.calls,
    }
    with open(result, "w", encoding="utf-8") as file:
        json.dump(found, file)
    return code


if __name__ == "__main__":
    sys.exit(main())
