"""Run a training program and say how many seconds it spends in matrix products.

`python matmul_probe.py RESULT.json script|module TARGET [arguments of the program ...]`

Runs inside the interpreter of the program, ours or CleanRL's, with nothing of the program changed,
and needs only torch and NumPy. Torch's products are timed one by one where torch dispatches them,
NumPy's by handing out weights as an array type that times the products it takes part in. Noting
calls slows everything between the products, so the result is to be divided by the wall-clock time
of a run without it.

torch.profiler would do the same, but its records fill the gaps that freed arrays leave, so that
every product writes to memory that the kernel has to clear first: they took twice as long.
"""

from __future__ import annotations

import json
import runpy
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode

# Under inference mode torch dispatches the composite ones whole.
MATRIX_PRODUCTS = frozenset(
    {
        "aten::mm",
        "aten::addmm",
        "aten::bmm",
        "aten::baddbmm",
        "aten::mv",
        "aten::addmv",
        "aten::dot",
        "aten::linear",
        "aten::matmul",
        "aten::conv2d",
        "aten::convolution",
        "aten::convolution_backward",
        "aten::lstm",
        "aten::mkldnn_rnn_layer",
        "mkldnn::_linear_pointwise",
    }
)
NUMPY_PRODUCTS = (np.matmul, np.dot, np.inner, np.einsum)


class TorchMeter(TorchDispatchMode):
    """Seconds and calls of torch's matrix products and convolutions while it is entered."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds = 0.0
        self.calls = 0
        self._is_product: dict[Any, bool] = {}

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        is_product = self._is_product.get(func)
        if is_product is None:
            is_product = self._is_product[func] = func._schema.name in MATRIX_PRODUCTS
        if not is_product:
            return func(*args, **(kwargs or {}))
        started = time.perf_counter()
        result = func(*args, **(kwargs or {}))
        self.seconds += time.perf_counter() - started
        self.calls += 1
        return result


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


def main() -> int:
    result, kind, target, *arguments = sys.argv[1:]
    warm_up()
    time_numpy_products()
    with TorchMeter() as meter:
        code = run_program(kind, target, arguments)
    found = {
        "torch_s": meter.seconds,
        "torch_calls": meter.calls,
        "numpy_s": Meter.seconds,
        "numpy_calls": Meter.calls,
    }
    with open(result, "w", encoding="utf-8") as file:
        json.dump(found, file)
    return code


if __name__ == "__main__":
    sys.exit(main())
