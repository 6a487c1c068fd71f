"""Kernels checked against references, measured and tuned: ops of the library, .cu files, Python functions.

>>> gf.lab.check("copy_transpose", device="cpu", shapes=[(5, 7)], dtypes=["float32"])["good"]
True
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

from . import _core

Candidate = _core.lab.Candidate
bench = _core.lab.bench
check = _core.lab.check
ops = _core.lab.ops
suite_cases = _core.lab.suite_cases
suites = _core.lab.suites
tune = _core.lab.tune

Operand = tuple[str, object, Sequence[int]]


def candidate(
    function: Callable[..., Any],
    reference: Callable[..., Any],
    *,
    inputs: Sequence[Operand],
    outputs: Sequence[Operand],
    name: str | None = None,
    rtol: float = 1e-5,
    atol: float = 1e-6,
    wrap: Callable[[Any], Any] | None = None,
    returns: bool = False,
) -> _core.lab.Candidate:
    """A Python function that check and bench take like a kernel.

    `function` is called with the outputs, then the inputs, and writes the outputs; with `returns`, with the inputs
    alone, and its results are copied. `wrap` makes another library's arrays of ours: torch.from_dlpack,
    cupy.from_dlpack; torch's current stream is then the lab's. `reference` gets the inputs as float64 arrays of
    NumPy and returns what the outputs should be. Operands are (name, dtype, shape).

    >>> double = gf.lab.candidate(lambda out, x: gf.add(x, x, out=out), lambda x: 2 * x,
    ...     inputs=[("x", "float32", (4, 5))], outputs=[("out", "float32", (4, 5))], name="double")
    >>> gf.lab.check(double, device="cpu")["good"]
    True
    """
    count = len(outputs)

    def call(*arrays: Any) -> None:
        theirs = [wrap(array) for array in arrays] if wrap is not None else list(arrays)
        with _torch_stream(arrays[0].device):
            if not returns:
                function(*theirs)
                return
            results = function(*theirs[count:])
            if not isinstance(results, (tuple, list)):
                results = (results,)
            for out, result in zip(arrays[:count], results, strict=True):
                out[...] = _core.asarray(result, device=out.device)

    called = str(name or getattr(function, "__name__", "candidate"))
    return _core.lab._candidate(called, call, reference, list(inputs), list(outputs), rtol, atol)


def _torch_stream(device: str) -> Any:
    """torch's work goes to the lab's stream, where torch is used at all."""
    torch = sys.modules.get("torch")
    if torch is None or not device.startswith("cuda"):
        return nullcontext()
    return torch.cuda.stream(torch.cuda.ExternalStream(_core.current_stream(device).handle))
