"""Losses and updates as a run asks for: compiled by torch, as CUDA graphs, or as they are.

A compiled update differs from an eager one in the last bits, so the choice is made once, stored in
checkpoints, and taken over by a resume.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

from cleanrl_worker.graphs import as_graphs
from mosaic.contracts.errors import ConfigError, DependencyMissing

P = ParamSpec("P")
R = TypeVar("R")

# What inductor turns its programs into machine code with.
_CXX = ("c++", "g++", "clang++")


class Compiler:
    """Compiles each function once; by default it leaves them as they are."""

    def __init__(self, *, compile: bool = False, cudagraphs: bool = False) -> None:
        self._compile = compile
        self._cudagraphs = cudagraphs
        self._compiled: dict[object, object] = {}

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        """Return a loss, whose arguments may be anything, as this run computes it."""
        if not self._compile:
            return function
        if function not in self._compiled:
            self._compiled[function] = _compile(function)
        return cast("Callable[P, R]", self._compiled[function])

    def whole(self, update: Callable[P, R]) -> Callable[P, R]:
        """Return an update, which takes batches and flags (`as_graphs`), as this run computes it.

        It is kept by whoever asks, for the length of a training: a graph is bound to the networks
        and optimisers that it was captured with.
        """
        return as_graphs(update) if self._cudagraphs else update


def _compile(function: Callable[P, R]) -> Callable[P, R]:
    # The import takes two seconds, which only those pay who compile.
    import torch._dynamo
    import torch._inductor.config

    # Helpers of the compiler would outlive it, and one program is compiled at a time.
    torch._inductor.config.compile_threads = 1
    # An acting network, a normaliser or a schedule never makes a second variant necessary.
    torch._dynamo.config.automatic_dynamic_shapes = False
    return torch.compile(function)


def build_compiler(
    *, compile: bool, cudagraphs: bool, cuda: bool, device: object
) -> tuple[Compiler, tuple[str, ...]]:
    """Return the compiler, and what the user should know where it is not what was asked for."""
    if cudagraphs and not cuda:
        raise ConfigError(
            "cudagraphs=true needs cuda=true: graphs are replayed by a GPU.",
            hint="Leave cudagraphs out, or set cuda.",
        )
    if compile and not any(map(shutil.which, _CXX)):
        raise DependencyMissing(
            f"compile=true needs a C++ compiler, and none of {', '.join(_CXX)} is on the PATH.",
            hint="Install one (Debian: apt install g++), or leave compile out.",
        )
    if cudagraphs and not str(device).startswith("cuda"):
        return Compiler(compile=compile), ("cudagraphs=true has no effect without a GPU.",)
    return Compiler(compile=compile, cudagraphs=cudagraphs), ()
