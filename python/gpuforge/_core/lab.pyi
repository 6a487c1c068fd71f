"""Kernels checked against references, measured and tuned."""

from collections.abc import Sequence
from typing import Any


class Candidate:
    """A Python function that the lab checks and measures like a kernel."""

    @property
    def name(self) -> str: ...

def _candidate(name: str, call: object, reference: object, inputs: object, outputs: object, rtol: float, atol: float) -> Candidate: ...

def ops() -> list[str]: ...

def suites() -> dict[str, str]: ...

def suite_cases(name: str) -> list[dict[str, Any]]:
    """What `gpuforge bench --suite NAME` measures."""

def check(what: object, *, device: str | None = None, shapes: object = None, dtypes: object = None, variants: Sequence[str] = [], options: dict[str, object] | None = None, quick: bool = False, seed: int = 1) -> dict[str, Any]:
    """
    An op by name, a kernel file or a candidate, against its reference over shapes, dtypes, variants and hard contents.
    """

def bench(what: object, *, device: str | None = None, shape: object = None, dtype: object = None, variant: str = '', options: dict[str, object] | None = None, seconds: float = 1.0, repetitions: int = 8, method: str = 'graph') -> dict[str, Any]:
    """
    Verified first, then measured; counted instead where the device is the simulator.
    """

def tune(what: object, *, device: str | None = None, shape: object = None, dtype: object = None, variant: str = '', options: dict[str, object] | None = None, seconds: float | None = None, keep: bool = True) -> dict[str, Any]:
    """
    Which of an op's configurations is fastest. What it finds is kept beside the command's (`gpuforge tune`), and Python programs and the command choose by it when they start.
    """
