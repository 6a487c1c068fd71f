"""Kernels from text or files."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Sequence
from typing import Any

from . import _core


def jit(
    source: str | os.PathLike[str],
    func: str = "",
    *,
    options: Sequence[str] = (),
    defines: Sequence[str] = (),
    include_dirs: Sequence[str] = (),
    block_size: int | Sequence[int] = 256,
    device: str | None = None,
) -> _core.Kernel:
    """A kernel of CUDA C++: its text, or the path of a .cu file; `func` may be left out when there is one kernel.

    It is compiled now for `device` (or the default one), so that mistakes show here, and for others when it is
    first launched there. A launch takes arrays and numbers, and keywords: grid, block, stream, shared, cluster,
    cooperative. Without grid, the integer parameter called n (or the only one) says how many threads there are.

    >>> scale = gf.jit('''
    ... extern "C" __global__ void scale(float* x, float a, int n) {
    ...   int i = blockIdx.x * blockDim.x + threadIdx.x;
    ...   if (i < n) x[i] *= a;
    ... }''', device="sim")
    >>> x = gf.ones(4, device="sim")
    >>> scale(x, 0.5, 4)
    >>> x.tolist()
    [0.5, 0.5, 0.5, 0.5]
    """
    kernel = _core._make_kernel(source, func, list(options), list(defines), list(include_dirs), block_size)
    kernel.compile(device)
    return kernel


def Kernel(
    source: str | os.PathLike[str],
    func: str = "",
    *,
    options: Sequence[str] = (),
    defines: Sequence[str] = (),
    include_dirs: Sequence[str] = (),
    block_size: int | Sequence[int] = 256,
) -> _core.Kernel:
    """As jit, but nothing is compiled before the first launch."""
    return _core._make_kernel(source, func, list(options), list(defines), list(include_dirs), block_size)


def fuse(function: Callable[..., Any]) -> _core.Fused:
    """One kernel of a function of elementwise calls, which is called once, with expressions instead of arrays.

    >>> f = gf.fuse(lambda x, y: gf.exp(-x) * y + 1)
    >>> f
    Fused(add(mul(exp(neg(x0)), x1), 1))
    >>> f(gf.zeros(2, device="cpu"), gf.full(2, 3.0, device="cpu")).tolist()
    [4.0, 4.0]
    """
    count = len(inspect.signature(function).parameters)
    return _core._fused(function(*[_core._argument(i) for i in range(count)]), count)
