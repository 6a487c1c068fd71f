"""Triton kernels for the comparison: what a careful Triton programmer writes first. A row that fits is held whole;
a longer one is read twice. Block sizes and warps are Triton's autotuner's to choose."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from .cases import EPS, Case

HELD = 32768  # columns that are held on chip
WARPS = [triton.Config({}, num_warps=warps) for warps in (4, 8, 16, 32)]
LOOPS = [triton.Config({"BLOCK": block}, num_warps=warps) for block, warps in ((2048, 4), (4096, 8), (8192, 16))]
ROW_BLOCKS = [
    triton.Config({"ROWS": rows}, num_warps=warps) for rows, warps in ((1, 1), (4, 2), (8, 4), (16, 8), (32, 8))
]


@triton.autotune(
    [
        triton.Config({"TILE_M": m, "TILE_N": n}, num_warps=w)
        for m, n, w in ((32, 32, 4), (64, 64, 4), (64, 64, 8), (128, 64, 8))
    ],
    key=["M", "N"],
)
@triton.jit
def transpose_kernel(x, out, M, N, TILE_M: tl.constexpr, TILE_N: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * TILE_M + tl.arange(0, TILE_M)
    column = tl.program_id(1).to(tl.int64) * TILE_N + tl.arange(0, TILE_N)
    tile = tl.load(x + row[:, None] * N + column[None, :], mask=(row[:, None] < M) & (column[None, :] < N))
    tl.store(out + column[:, None] * M + row[None, :], tile.trans(), mask=(column[:, None] < N) & (row[None, :] < M))


@triton.autotune(ROW_BLOCKS, key=["M", "N"])
@triton.jit
def sum_short_kernel(x, out, M, N, COLUMNS: tl.constexpr, ROWS: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, COLUMNS)
    values = tl.load(x + row[:, None] * N + column[None, :], mask=(row[:, None] < M) & (column[None, :] < N), other=0.0)
    tl.store(out + row, tl.sum(values.to(tl.float32), 1), mask=row < M)


@triton.autotune(LOOPS, key=["M", "N"])
@triton.jit
def sum_long_kernel(x, out, N, BLOCK: tl.constexpr):
    start = x + tl.program_id(0).to(tl.int64) * N
    total = tl.zeros([BLOCK], tl.float32)
    for at in range(0, N, BLOCK):
        column = at + tl.arange(0, BLOCK)
        total += tl.load(start + column, mask=column < N, other=0.0).to(tl.float32)
    tl.store(out + tl.program_id(0), tl.sum(total, 0))


@triton.autotune(
    [triton.Config({"ROWS": r, "COLUMNS": c}, num_warps=w) for r, c, w in ((16, 64, 4), (32, 128, 8), (64, 64, 8))],
    key=["M", "N"],
)
@triton.jit
def sum_columns_kernel(x, out, M, N, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    column = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    total = tl.zeros([ROWS, COLUMNS], tl.float32)
    for at in range(0, M, ROWS):
        row = at + tl.arange(0, ROWS)
        total += tl.load(
            x + row[:, None].to(tl.int64) * N + column[None, :],
            mask=(row[:, None] < M) & (column[None, :] < N),
            other=0.0,
        ).to(tl.float32)
    tl.store(out + column, tl.sum(total, 0), mask=column < N)


@triton.autotune(WARPS, key=["N"])
@triton.jit
def softmax_held_kernel(x, out, N, COLUMNS: tl.constexpr):
    start = tl.program_id(0).to(tl.int64) * N
    column = tl.arange(0, COLUMNS)
    values = tl.load(x + start + column, mask=column < N, other=-float("inf")).to(tl.float32)
    powers = tl.exp(values - tl.max(values, 0))
    tl.store(out + start + column, powers / tl.sum(powers, 0), mask=column < N)


@triton.autotune(LOOPS, key=["N"])
@triton.jit
def softmax_long_kernel(x, out, N, BLOCK: tl.constexpr):
    start = tl.program_id(0).to(tl.int64) * N
    largest = tl.full([BLOCK], -float("inf"), tl.float32)
    total = tl.zeros([BLOCK], tl.float32)
    for at in range(0, N, BLOCK):
        column = at + tl.arange(0, BLOCK)
        values = tl.load(x + start + column, mask=column < N, other=-1e30).to(tl.float32)
        new = tl.maximum(largest, values)
        total = total * tl.exp(largest - new) + tl.where(column < N, tl.exp(values - new), 0.0)
        largest = new
    top = tl.max(largest, 0)
    whole = tl.sum(total * tl.exp(largest - top), 0)
    for at in range(0, N, BLOCK):
        column = at + tl.arange(0, BLOCK)
        values = tl.load(x + start + column, mask=column < N, other=0.0).to(tl.float32)
        tl.store(out + start + column, tl.exp(values - top) / whole, mask=column < N)


@triton.autotune(WARPS, key=["N"])
@triton.jit
def softmax_backward_kernel(dy, y, dx, N, COLUMNS: tl.constexpr):
    start = tl.program_id(0).to(tl.int64) * N
    column = tl.arange(0, COLUMNS)
    a = tl.load(dy + start + column, mask=column < N, other=0.0).to(tl.float32)
    b = tl.load(y + start + column, mask=column < N, other=0.0).to(tl.float32)
    tl.store(dx + start + column, b * (a - tl.sum(a * b, 0)), mask=column < N)


@triton.autotune(LOOPS, key=["N"])
@triton.jit
def softmax_backward_long_kernel(dy, y, dx, N, BLOCK: tl.constexpr):
    start = tl.program_id(0).to(tl.int64) * N
    total = tl.zeros([BLOCK], tl.float32)
    for at in range(0, N, BLOCK):
        column = at + tl.arange(0, BLOCK)
        a = tl.load(dy + start + column, mask=column < N, other=0.0).to(tl.float32)
        total += a * tl.load(y + start + column, mask=column < N, other=0.0).to(tl.float32)
    dot = tl.sum(total, 0)
    for at in range(0, N, BLOCK):
        column = at + tl.arange(0, BLOCK)
        a = tl.load(dy + start + column, mask=column < N, other=0.0).to(tl.float32)
        b = tl.load(y + start + column, mask=column < N, other=0.0).to(tl.float32)
        tl.store(dx + start + column, b * (a - dot), mask=column < N)


@triton.autotune(WARPS, key=["N"])
@triton.jit
def norm_kernel(
    x, weight, bias, residual, out, summed, N, eps, COLUMNS: tl.constexpr, CENTRED: tl.constexpr, RESIDUAL: tl.constexpr
):
    start = tl.program_id(0).to(tl.int64) * N
    column = tl.arange(0, COLUMNS)
    inside = column < N
    row = tl.load(x + start + column, mask=inside, other=0.0).to(tl.float32)
    if RESIDUAL:
        row += tl.load(residual + start + column, mask=inside, other=0.0).to(tl.float32)
        rounded = row.to(x.dtype.element_ty)
        tl.store(summed + start + column, rounded, mask=inside)
        row = rounded.to(tl.float32)
    if CENTRED:
        row = tl.where(inside, row - tl.sum(row, 0) / N, 0.0)
    scaled = (
        row * tl.rsqrt(tl.sum(row * row, 0) / N + eps) * tl.load(weight + column, mask=inside, other=0.0).to(tl.float32)
    )
    if CENTRED:
        scaled += tl.load(bias + column, mask=inside, other=0.0).to(tl.float32)
    tl.store(out + start + column, scaled, mask=inside)


def compute(case: Case, outputs: list[torch.Tensor], inputs: list[torch.Tensor]) -> None:
    x, out = inputs[0], outputs[0]
    m, n = x.shape
    held = triton.next_power_of_2(n)
    if case.op == "copy_transpose":
        transpose_kernel[lambda meta: (triton.cdiv(m, meta["TILE_M"]), triton.cdiv(n, meta["TILE_N"]))](x, out, m, n)
    elif case.op == "reduce_sum" and case.dim == 0:
        sum_columns_kernel[lambda meta: (triton.cdiv(n, meta["COLUMNS"]),)](x, out, m, n)
    elif case.op == "reduce_sum" and n <= 1024:
        sum_short_kernel[lambda meta: (triton.cdiv(m, meta["ROWS"]),)](x, out, m, n, COLUMNS=held)
    elif case.op == "reduce_sum":
        sum_long_kernel[(m,)](x, out, n)
    elif case.op == "softmax" and n <= HELD:
        softmax_held_kernel[(m,)](x, out, n, COLUMNS=held)
    elif case.op == "softmax":
        softmax_long_kernel[(m,)](x, out, n)
    elif case.op == "softmax_backward" and n <= HELD:
        softmax_backward_kernel[(m,)](x, inputs[1], out, n, COLUMNS=held)
    elif case.op == "softmax_backward":
        softmax_backward_long_kernel[(m,)](x, inputs[1], out, n)
    elif case.op in ("rms_norm", "layer_norm") and n <= HELD:
        norm_kernel[(m,)](
            x,
            inputs[1],
            inputs[2] if case.op == "layer_norm" else inputs[1],
            inputs[-1],
            out,
            outputs[-1],
            n,
            EPS,
            COLUMNS=held,
            CENTRED=case.op == "layer_norm",
            RESIDUAL=case.residual,
        )
    else:
        raise NotImplementedError(case.name)
