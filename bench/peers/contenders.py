"""Who computes a case. A contender's `prepare(case)` gives a function of (outputs, inputs) that returns the tensors
it wrote: `outputs`, or its own where its library cannot write into given ones. None: it does not have the op."""

from __future__ import annotations

import importlib
from collections.abc import Callable

import torch
import torch.nn.functional as F

from .cases import EPS, Case

Compute = Callable[[list[torch.Tensor], list[torch.Tensor]], list[torch.Tensor]]


def torch_expression(case: Case) -> Callable[..., tuple[torch.Tensor, ...]]:
    """As a user of PyTorch writes it; eager where it takes no `out`, and what torch.compile gets."""
    columns = (case.columns,)
    if case.op == "copy_transpose":
        return lambda x: (x.t().contiguous(),)
    if case.op == "reduce_sum":
        return lambda x: (x.sum(case.dim),)
    if case.op == "reduce_mean":
        return lambda x: (x.mean(case.dim),)
    if case.op == "reduce_amax":
        return lambda x: (x.amax(case.dim),)
    if case.op == "softmax":
        return lambda x: (torch.softmax(x, -1),)
    if case.op == "softmax_backward":
        return lambda dy, y: (torch.ops.aten._softmax_backward_data(dy, y, -1, dy.dtype),)
    if case.op == "rms_norm" and case.residual:

        def rms_norm_residual(x, weight, residual):
            summed = x + residual
            return F.rms_norm(summed, columns, weight, EPS), summed

        return rms_norm_residual
    if case.op == "rms_norm":
        return lambda x, weight: (F.rms_norm(x, columns, weight, EPS),)
    if case.op == "layer_norm" and case.residual:

        def layer_norm_residual(x, weight, bias, residual):
            summed = x + residual
            return F.layer_norm(summed, columns, weight, bias, EPS), summed

        return layer_norm_residual
    return lambda x, weight, bias: (F.layer_norm(x, columns, weight, bias, EPS),)


def prepare_torch(case: Case) -> Compute:
    def written(compute: Callable[[list[torch.Tensor], list[torch.Tensor]], object]) -> Compute:
        def run(outputs: list[torch.Tensor], inputs: list[torch.Tensor]) -> list[torch.Tensor]:
            compute(outputs, inputs)
            return outputs

        return run

    if case.op == "copy_transpose":
        return written(lambda out, x: out[0].copy_(x[0].t()))
    if case.op == "reduce_sum":
        return written(lambda out, x: torch.sum(x[0], case.dim, out=out[0]))
    if case.op == "reduce_mean":
        return written(lambda out, x: torch.mean(x[0], case.dim, out=out[0]))
    if case.op == "reduce_amax":
        return written(lambda out, x: torch.amax(x[0], case.dim, out=out[0]))
    if case.op == "softmax":
        return written(lambda out, x: torch.softmax(x[0], -1, out=out[0]))
    if case.op == "softmax_backward":
        return written(
            lambda out, x: torch.ops.aten._softmax_backward_data.out(x[0], x[1], -1, x[0].dtype, grad_input=out[0])
        )
    expression = torch_expression(case)
    return lambda out, x: list(expression(*x))


def prepare_torch_compile(case: Case) -> Compute:
    torch._dynamo.reset()  # each shape is a program of its own; none may fall back to another's
    compiled = torch.compile(torch_expression(case), fullgraph=True, dynamic=False)
    return lambda out, x: list(compiled(*x))


def prepare_triton(case: Case) -> Compute | None:
    from . import triton_kernels

    def run(outputs: list[torch.Tensor], inputs: list[torch.Tensor]) -> list[torch.Tensor]:
        triton_kernels.compute(case, outputs, inputs)
        return outputs

    return None if case.op in ("reduce_mean", "reduce_amax") else run


def prepare_cupy(case: Case) -> Compute | None:
    if case.dtype == "bf16" or case.op not in ("copy_transpose", "reduce_sum", "reduce_amax"):
        return None
    import cupy

    def run(outputs: list[torch.Tensor], inputs: list[torch.Tensor]) -> list[torch.Tensor]:
        with cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream):
            x, out = cupy.asarray(inputs[0]), cupy.asarray(outputs[0])
            if case.op == "copy_transpose":
                cupy.copyto(out, x.T)
            else:
                (cupy.sum if case.op == "reduce_sum" else cupy.amax)(x, axis=case.dim, out=out)
        return outputs

    return run


def prepare_ours(case: Case) -> Compute:
    importlib.import_module("gpuforge.torch")
    ops = torch.ops.gpuforge

    def run(outputs: list[torch.Tensor], inputs: list[torch.Tensor]) -> list[torch.Tensor]:
        x, out = inputs[0], outputs[0]
        residual = (inputs[-1], outputs[-1]) if case.residual else (None, None)
        if case.op == "copy_transpose":
            ops._copy_transpose(x, out)
        elif case.op == "reduce_sum":
            ops._reduce_sum(x, out, case.dim)
        elif case.op in ("reduce_mean", "reduce_amax"):
            ops._reduce(x, out, case.dim, case.op.removeprefix("reduce_"))
        elif case.op == "softmax":
            ops._softmax_fwd(x, out, -1)
        elif case.op == "softmax_backward":
            ops._softmax_backward(x, inputs[1], out, -1)
        elif case.op == "rms_norm":
            ops._rms_norm(x, out, inputs[1], EPS, *residual)
        else:
            ops._layer_norm(x, out, inputs[1], inputs[2], EPS, *residual)
        return outputs

    return run


CONTENDERS: dict[str, Callable[[Case], Compute | None]] = {
    "gpuforge": prepare_ours,
    "torch": prepare_torch,
    "torch.compile": prepare_torch_compile,
    "triton": prepare_triton,
    "cupy": prepare_cupy,
}
