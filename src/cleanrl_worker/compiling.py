"""Functions of an update, compiled as a run asks for: by torch.compile, as CUDA graphs, or not.

A compiled update differs from an eager one in the last bits, so the choice is made once, stored in
checkpoints, and taken over by a resume.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar, cast

import torch

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
        if not (self._compile or self._cudagraphs):
            return function
        if function not in self._compiled:
            self._compiled[function] = self._make(function)
        return cast("Callable[P, R]", self._compiled[function])

    def _make(self, function: Callable[P, R]) -> Callable[P, R]:
        # The import takes two seconds, which only those pay who compile.
        import torch._dynamo
        import torch._inductor.config

        # Helpers of the compiler would outlive it, and one program is compiled at a time.
        torch._inductor.config.compile_threads = 1
        # An acting network, a normaliser or a schedule never makes a second variant necessary.
        torch._dynamo.config.automatic_dynamic_shapes = False
        if not self._cudagraphs:
            return torch.compile(function)
        if self._compile:
            compiled = torch.compile(function, mode="reduce-overhead")
        else:
            compiled = torch.compile(function, backend="cudagraphs")
        return _keep_outputs(compiled)


def _keep_outputs(compiled: Callable[P, R]) -> Callable[P, R]:
    """Copy what a graph returns: its next replay writes over its own memory."""
    from torch.utils._pytree import tree_map_only

    @wraps(compiled)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        torch.compiler.cudagraph_mark_step_begin()
        return cast("R", tree_map_only(torch.Tensor, torch.clone, compiled(*args, **kwargs)))

    return call


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
