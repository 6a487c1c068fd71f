"""The least time for the bytes of a case: the library's plain kernel that moves as many, in the same proportion of
reads and writes, over as many buffers. Several shapes of it are played among the contenders, and the fastest stands.
And the least time of any call: that kernel told to move nothing."""

from __future__ import annotations

import math

import torch

from .cases import Case
from .contenders import Compute

UNIT_BYTES = 16
FORMS = (1, 4, 8)  # units that a thread has in flight


def proportion(case: Case) -> tuple[int, int]:
    """Streams of the size of the operand: those of the case, or reads alone where it writes next to nothing."""
    whole = case.rows * case.columns * case.element_bytes
    return round(case.bytes_read() / whole), round(case.bytes_written() / whole)


def move(target: torch.Tensor, source: torch.Tensor, units: int, reads: int, writes: int, form: int) -> None:
    from gpuforge._core import torch_ops

    stream = torch.cuda.current_stream().cuda_stream
    torch_ops.move_bytes(target.data_ptr(), source.data_ptr(), units, reads, writes, form, 0, stream)


def prepare(case: Case, form: int, sets: int) -> Compute:
    reads, writes = proportion(case)
    moved = case.bytes_read() + case.bytes_written()
    units = max(1, math.ceil(moved / (UNIT_BYTES * (reads + writes))))
    sources = [torch.zeros(max(1, reads * units) * UNIT_BYTES, dtype=torch.uint8, device="cuda") for _ in range(sets)]
    targets = [
        torch.zeros(max(256, writes * units) * UNIT_BYTES, dtype=torch.uint8, device="cuda") for _ in range(sets)
    ]
    call = [0]

    def run(outputs: list[torch.Tensor], inputs: list[torch.Tensor]) -> list[torch.Tensor]:
        at = call[0] % sets
        call[0] += 1
        move(targets[at], sources[at], units, reads, writes, form)
        return [sources[at], targets[at]]

    return run


def prepare_empty() -> Compute:
    """One block that reads and writes nothing."""
    unused = torch.zeros(UNIT_BYTES, dtype=torch.uint8, device="cuda")

    def run(outputs: list[torch.Tensor], inputs: list[torch.Tensor]) -> list[torch.Tensor]:
        move(unused, unused, 1, 0, 0, 1)
        return [unused]

    return run
