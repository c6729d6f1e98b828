"""Updates on a GPU as CUDA graphs: launched whole, instead of a hundred kernels one by one.

A small network's update takes the GPU less time than its kernels take to be launched. A graph holds
all of it: losses, gradients, optimisers, targets. It runs the same kernels on the same weights, and
draws the same random numbers, so that its results are those of an update without it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import Any, NamedTuple, ParamSpec, TypeVar, cast

import torch
from torch import Tensor

P = ParamSpec("P")
R = TypeVar("R")

# Before capture libraries allocate their workspaces and choose their kernels, and programs are
# compiled. These updates are real ones.
WARM_UPS = 3
# A run has a few shapes of batches; whoever comes with more has its kernels launched one by one.
MAX_GRAPHS = 8


class _Graph(NamedTuple):
    graph: torch.cuda.CUDAGraph
    inputs: list[Tensor]
    outputs: Any


def as_graphs(function: Callable[P, R]) -> Callable[P, R]:
    """Return the function as graphs, one for each kind of batches and each choice of flags.

    Positional arguments are batches: tensors, or named tuples or dataclasses of tensors, all on one
    GPU. Flags are given by name, and hashed. What a graph returns lies in its own memory, without a
    gradient: it is good until the next call of that kind.
    """
    graphs: dict[object, _Graph] = {}
    calls: Counter[object] = Counter()
    # Capture and what comes before it must share a stream: gradients are added up on the first.
    asides: dict[torch.device, torch.cuda.Stream] = {}

    @wraps(function)
    def call(*batches: Any, **flags: Any) -> Any:
        tensors = [tensor for batch in batches for tensor in _tensors(batch)]
        kind = (*((tensor.shape, tensor.dtype) for tensor in tensors), *flags.items())
        if kind not in graphs:
            device = tensors[0].device
            aside = asides.setdefault(device, torch.cuda.Stream(device))
            if calls[kind] < WARM_UPS or len(graphs) == MAX_GRAPHS:
                calls[kind] += 1
                return _launched(lambda: function(*batches, **flags), aside)
            graphs[kind] = _captured(lambda *held: function(*held, **flags), batches, aside)
        graph, inputs, outputs = graphs[kind]
        torch._foreach_copy_(inputs, tensors)
        graph.replay()
        return outputs

    return cast("Callable[P, R]", call)


def _launched(function: Callable[[], Any], aside: torch.cuda.Stream) -> Any:
    """Call the function on a stream, kernel by kernel."""
    here = torch.cuda.current_stream(aside.device)
    aside.wait_stream(here)
    with torch.cuda.stream(aside):
        outputs = _without_gradient(function())
    here.wait_stream(aside)
    return outputs


def _captured(
    function: Callable[..., Any], batches: tuple[Any, ...], aside: torch.cuda.Stream
) -> _Graph:
    """Record what the function does with memory like the batches', without doing it."""
    held = [_like(batch) for batch in batches]
    graph = torch.cuda.CUDAGraph()
    # Another thread's calls, such as those of a distributed group's watchdog, are none of ours.
    with torch.cuda.graph(graph, stream=aside, capture_error_mode="thread_local"):
        outputs = _without_gradient(function(*held))
    return _Graph(graph, [tensor for batch in held for tensor in _tensors(batch)], outputs)


def _tensors(batch: Any) -> Iterator[Tensor]:
    if isinstance(batch, Tensor):
        yield batch
    elif is_dataclass(batch):
        for field in fields(batch):
            yield getattr(batch, field.name)
    else:
        yield from batch


def _like(batch: Any) -> Any:
    copies = [torch.empty_like(tensor) for tensor in _tensors(batch)]
    return copies[0] if isinstance(batch, Tensor) else type(batch)(*copies)


def _without_gradient(outputs: Any) -> Any:
    """Let go of what led to the outputs, which else stays tied to the stream that it ran on."""
    if isinstance(outputs, Tensor):
        return outputs.detach()
    if isinstance(outputs, dict):
        return {name: _without_gradient(output) for name, output in outputs.items()}
    if isinstance(outputs, tuple):
        parts = map(_without_gradient, outputs)
        return type(outputs)(*parts) if hasattr(outputs, "_fields") else tuple(parts)
    return outputs
