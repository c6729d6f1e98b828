"""Acting with a network of torch: on a GPU its pass is captured once a shape, and then replayed.

An acting step is small, and launching its dozen kernels one by one takes longer than running them.
A CUDA graph launches them all at once, the copies to the GPU and back among them. They are the same
kernels on the same weights, so the numbers are those of an eager pass.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn

from cleanrl_worker.envs.observations import Array

Outputs = tuple[Array, ...]
_Pass = Callable[[Array], Outputs]

# Training and evaluation act on a few shapes; whoever comes with more gets eager passes.
_MAX_GRAPHS = 8
# Before capture libraries allocate their workspaces and choose their kernels.
_WARM_UPS = 3


def by_torch(network: nn.Module, device: torch.device) -> _Pass:
    """Return a function from observations to all outputs of the network, as arrays."""
    graphs: dict[tuple[tuple[int, ...], np.dtype], _Pass] = {}

    def run(obs: Array) -> Outputs:
        kind = obs.shape, obs.dtype
        if kind not in graphs:
            if device.type != "cuda" or len(graphs) == _MAX_GRAPHS:
                return _eagerly(network, obs, device)
            graphs[kind] = _capture(network, obs, device)
        return graphs[kind](obs)

    return run


def _eagerly(network: nn.Module, obs: Array, device: torch.device) -> Outputs:
    with torch.inference_mode():
        outputs = _as_tuple(network(torch.from_numpy(obs).to(device)))
        return tuple(output.cpu().numpy() for output in outputs)


def _capture(network: nn.Module, obs: Array, device: torch.device) -> _Pass:
    """Record one pass; pinned memory at both ends lets the graph hold the copies as well."""
    with torch.inference_mode(), torch.cuda.device(device):
        sent = torch.from_numpy(np.ascontiguousarray(obs)).pin_memory()
        held = sent.to(device)
        aside = torch.cuda.Stream()
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            for _ in range(_WARM_UPS):
                outputs = _as_tuple(network(held))
        torch.cuda.current_stream().wait_stream(aside)
        received = [torch.empty_like(output, device="cpu", pin_memory=True) for output in outputs]
        graph = torch.cuda.CUDAGraph()
        # Another thread's calls, such as those of a distributed group's watchdog, are none of ours.
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):
            held.copy_(sent, non_blocking=True)
            for target, output in zip(received, _as_tuple(network(held)), strict=True):
                target.copy_(output, non_blocking=True)
    written, read = sent.numpy(), [output.numpy() for output in received]

    def replay(obs: Array) -> Outputs:
        np.copyto(written, obs)
        graph.replay()
        torch.cuda.current_stream(device).synchronize()
        return tuple(output.copy() for output in read)

    return replay


def _as_tuple(outputs: Tensor | tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    return (outputs,) if isinstance(outputs, Tensor) else outputs
