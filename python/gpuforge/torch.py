"""gpuforge's ops for PyTorch, on torch's tensors and streams, without copies.

>>> import torch, gpuforge.torch as gft
>>> x = torch.randn(64, 1000, device="cuda", requires_grad=True)
>>> gft.softmax_online(x).sum().backward()

Importing it registers ``torch.ops.gpuforge._copy_transpose``, ``_reduce``, ``_reduce_sum``, ``_softmax_fwd``,
``_softmax_backward``, ``_rms_norm``, ``_rms_norm_backward`` and ``_layer_norm``, which write into a tensor given, and
the functions below, which return a new one. All of them work under ``torch.compile(fullgraph=True)`` and while a CUDA
graph is captured; all but layer_norm have gradients. Tensors on the host go to the ``cpu`` device."""

from __future__ import annotations

from collections.abc import Callable

import torch

from ._core import torch_ops as _ops

__all__ = [
    "copy_transpose",
    "get_softmax_online_backend",
    "layer_norm",
    "list_softmax_online_backends",
    "reduce",
    "reduce_sum",
    "register_softmax_online_backend",
    "rms_norm",
    "set_softmax_online_backend",
    "softmax_online",
]

_ops.start(
    torch.float16,
    torch.bfloat16,
    torch.float32,
    lambda size, device, stream: torch.cuda.caching_allocator_alloc(size, device, stream),
    torch.cuda.caching_allocator_delete,
)
_raw_stream = getattr(torch._C, "_cuda_getCurrentRawStream", None)  # absent in builds without CUDA
_library = torch.library.Library("gpuforge", "DEF")


def _place(x: torch.Tensor) -> tuple[int, int]:
    """The index of the tensor's GPU and torch's current stream there; -1 and 0 on the host."""
    if x.is_cuda:
        index = x.get_device()
        return index, _raw_stream(index)
    return -1, 0


def _plain(x: torch.Tensor) -> bool:
    """Nobody traces or watches: the op can be called without torch's dispatcher, which costs as much as the rest."""
    return type(x) is torch.Tensor and not torch.compiler.is_compiling() and torch._C._len_torch_dispatch_stack() == 0


def _wants_gradient(*tensors: torch.Tensor | None) -> bool:
    return torch.is_grad_enabled() and any(one is not None and one.requires_grad for one in tensors)


def _register(schema: str, implementation: Callable[..., None]) -> None:
    name = schema[: schema.index("(")]
    _library.define(schema)
    for key in ("CUDA", "CPU"):
        _library.impl(name, implementation, key)
    torch.library.register_fake(f"gpuforge::{name}", lambda *args, **kwargs: None, lib=_library)


def _copy_transpose(x, out, tile_size=0):
    _ops.copy_transpose(x, out, tile_size, *_place(x))


def _reduce(x, out, dim=-1, op="sum", keepdim=False):
    _ops.reduce(x, out, dim, op, keepdim, *_place(x))


def _reduce_sum(x, out, dim=-1, keepdim=False):
    _ops.reduce_sum(x, out, dim, keepdim, *_place(x))


def _softmax_fwd(x, out, dim=-1):
    _ops.softmax(x, out, dim, *_place(x))


def _softmax_backward(dy, y, dx, dim=-1):
    _ops.softmax_backward(dy, y, dx, dim, *_place(dy))


def _rms_norm(x, out, weight=None, eps=1e-6, residual=None, residual_out=None):
    _ops.rms_norm(x, out, weight, eps, residual, residual_out, *_place(x))


def _rms_norm_backward(dy, x, weight, dx, dweight=None, eps=1e-6):
    _ops.rms_norm_backward(dy, x, weight, dx, dweight, eps, *_place(x))


def _layer_norm(x, out, weight=None, bias=None, eps=1e-5, residual=None, residual_out=None):
    _ops.layer_norm(x, out, weight, bias, eps, residual, residual_out, *_place(x))


_register("_copy_transpose(Tensor x, Tensor(a!) out, int tile_size=0) -> ()", _copy_transpose)
_register('_reduce(Tensor x, Tensor(a!) out, int dim=-1, str op="sum", bool keepdim=False) -> ()', _reduce)
_register("_reduce_sum(Tensor x, Tensor(a!) out, int dim=-1, bool keepdim=False) -> ()", _reduce_sum)
_register("_softmax_fwd(Tensor x, Tensor(a!) out, int dim=-1) -> ()", _softmax_fwd)
_register("_softmax_backward(Tensor dy, Tensor y, Tensor(a!) dx, int dim=-1) -> ()", _softmax_backward)
_register(
    "_rms_norm(Tensor x, Tensor(a!) out, Tensor? weight=None, float eps=1e-6, Tensor? residual=None, "
    "Tensor(b!)? residual_out=None) -> ()",
    _rms_norm,
)
_register(
    "_rms_norm_backward(Tensor dy, Tensor x, Tensor? weight, Tensor(a!) dx, Tensor(b!)? dweight=None, "
    "float eps=1e-6) -> ()",
    _rms_norm_backward,
)
_register(
    "_layer_norm(Tensor x, Tensor(a!) out, Tensor? weight=None, Tensor? bias=None, float eps=1e-5, "
    "Tensor? residual=None, Tensor(b!)? residual_out=None) -> ()",
    _layer_norm,
)


class _CopyTranspose(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, tile_size):
        ctx.tile_size = tile_size
        return _transposed(x, tile_size)

    @staticmethod
    def backward(ctx, dy):
        return _transposed(dy, ctx.tile_size), None


def _transposed(x: torch.Tensor, tile_size: int) -> torch.Tensor:
    if x.dim() < 2:
        raise ValueError(f"copy_transpose: a tensor with two axes or more was expected; found {x.dim()}")
    out = x.new_empty((*x.shape[:-2], x.shape[-1], x.shape[-2]))
    (_copy_transpose if _plain(x) else torch.ops.gpuforge._copy_transpose)(x, out, tile_size)
    return out


def copy_transpose(x: torch.Tensor, tile_size: int = 0) -> torch.Tensor:
    """x with its last two axes exchanged, as a new contiguous tensor. tile_size: 16, 32, or 0 for its own choice."""
    return _CopyTranspose.apply(x, tile_size) if _wants_gradient(x) else _transposed(x, tile_size)


class _Reduce(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, dim, op, keepdim):
        ctx.shape, ctx.dim, ctx.op, ctx.keepdim = x.shape, dim, op, keepdim
        return _reduced(x, dim, op, keepdim)

    @staticmethod
    def backward(ctx, dy):
        dx = (dy if ctx.keepdim else dy.unsqueeze(ctx.dim)).expand(ctx.shape)
        return (dx / ctx.shape[ctx.dim] if ctx.op == "mean" else dx), None, None, None


def _reduced(x: torch.Tensor, dim: int, op: str, keepdim: bool) -> torch.Tensor:
    rank = x.dim()
    if not -rank <= dim < rank:
        raise IndexError(f"dim {dim} of a tensor with {rank} axes")
    axis = dim % rank
    out = x.new_empty((*x.shape[:axis], *((1,) if keepdim else ()), *x.shape[axis + 1 :]))
    if op == "sum":
        (_reduce_sum if _plain(x) else torch.ops.gpuforge._reduce_sum)(x, out, dim, keepdim)
    else:
        (_reduce if _plain(x) else torch.ops.gpuforge._reduce)(x, out, dim, op, keepdim)
    return out


def reduce(x: torch.Tensor, dim: int = -1, op: str = "sum", keepdim: bool = False) -> torch.Tensor:
    """One axis reduced by sum, amax (max), amin (min), prod or mean, in float32. sum and mean have gradients."""
    if not _wants_gradient(x):
        return _reduced(x, dim, op, keepdim)
    if op not in ("sum", "mean"):
        raise NotImplementedError(f"reduce: {op} has no gradient here; call it under torch.no_grad() or on x.detach()")
    return _Reduce.apply(x, dim, op, keepdim)


def reduce_sum(x: torch.Tensor, dim: int = -1, keepdim: bool = False) -> torch.Tensor:
    """The sum over one axis, added up in float32."""
    return _Reduce.apply(x, dim, "sum", keepdim) if _wants_gradient(x) else _reduced(x, dim, "sum", keepdim)


def layer_norm(x: torch.Tensor, weight=None, bias=None, eps: float = 1e-5) -> torch.Tensor:
    """Normalised over the last axis. Forward only."""
    if _wants_gradient(x, weight, bias):
        raise NotImplementedError("layer_norm has no gradient here; call it under torch.no_grad() or on x.detach()")
    out = torch.empty_like(x)
    (_layer_norm if _plain(x) else torch.ops.gpuforge._layer_norm)(x, out, weight, bias, eps)
    return out


# ---- softmax_online: forward and backward by the backend that is set -------------------------------------------------

_Forward = Callable[[torch.Tensor, int], torch.Tensor]
_Backward = Callable[[torch.Tensor, torch.Tensor, int], torch.Tensor]


def _kernel_forward(x: torch.Tensor, dim: int) -> torch.Tensor:
    out = torch.empty_like(x)
    (_softmax_fwd if _plain(x) else torch.ops.gpuforge._softmax_fwd)(x, out, dim)
    return out


def _kernel_backward(dy: torch.Tensor, y: torch.Tensor, dim: int) -> torch.Tensor:
    dx = torch.empty_like(y)
    torch.ops.gpuforge._softmax_backward(dy, y, dx, dim)
    return dx


def _reference_forward(x: torch.Tensor, dim: int) -> torch.Tensor:
    return torch.softmax(x.float(), dim).to(x.dtype)


def _reference_backward(dy: torch.Tensor, y: torch.Tensor, dim: int) -> torch.Tensor:
    dy32, y32 = dy.float(), y.float()
    return (y32 * (dy32 - (dy32 * y32).sum(dim, keepdim=True))).to(y.dtype)


_backends: dict[str, tuple[_Forward, _Backward]] = {
    "kernel": (_kernel_forward, _kernel_backward),
    "ref": (_reference_forward, _reference_backward),
}
_chosen = "kernel"


def register_softmax_online_backend(
    name: str, forward_impl: _Forward, backward_impl: _Backward | None = None, *, overwrite: bool = False
) -> None:
    """forward_impl(x, dim) and backward_impl(dy, y, dim) for softmax_online; the reference's backward if None."""
    if not isinstance(name, str) or not name:
        raise ValueError("softmax_online backend: the name is empty")
    if not callable(forward_impl) or not (backward_impl is None or callable(backward_impl)):
        raise TypeError(f"softmax_online backend {name!r}: forward_impl and backward_impl must be callable")
    if name in ("kernel", "ref") or (name in _backends and not overwrite):
        raise ValueError(f"softmax_online backend {name!r} is already registered")
    _backends[name] = (forward_impl, backward_impl or _reference_backward)


def set_softmax_online_backend(name: str) -> None:
    global _chosen
    if name not in _backends:
        raise ValueError(f"Unknown softmax_online backend {name!r}; there are {', '.join(sorted(_backends))}")
    _chosen = name


def get_softmax_online_backend() -> str:
    return _chosen


def list_softmax_online_backends() -> list[str]:
    return sorted(_backends)


def _checked(result: torch.Tensor, like: torch.Tensor, backend: str) -> torch.Tensor:
    if not isinstance(result, torch.Tensor):
        raise TypeError(f"softmax_online backend {backend!r} gave {type(result).__name__}, not a tensor")
    if result.shape != like.shape or result.dtype != like.dtype or result.device != like.device:
        raise ValueError(
            f"softmax_online backend {backend!r} gave {tuple(result.shape)} {result.dtype} on {result.device}; "
            f"{tuple(like.shape)} {like.dtype} on {like.device} was expected"
        )
    return result


class _Softmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, dim, backend):
        y = _checked(_backends[backend][0](x, dim), x, backend)
        ctx.save_for_backward(y)
        ctx.dim, ctx.backend = dim, backend
        return y

    @staticmethod
    def backward(ctx, dy):
        (y,) = ctx.saved_tensors
        return _checked(_backends[ctx.backend][1](dy, y, ctx.dim), y, ctx.backend), None, None


def softmax_online(x: torch.Tensor, dim: int = -1) -> torch.Tensor:
    """softmax over one axis, by the backend that is set ("kernel" unless told otherwise)."""
    if _wants_gradient(x):
        return _Softmax.apply(x, dim, _chosen)
    return _kernel_forward(x, dim) if _chosen == "kernel" else _checked(_backends[_chosen][0](x, dim), x, _chosen)


# ---- rms_norm --------------------------------------------------------------------------------------------------------


class _RmsNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, eps):
        out = torch.empty_like(x)
        torch.ops.gpuforge._rms_norm(x, out, weight, eps)
        ctx.save_for_backward(x, weight)
        ctx.eps = eps
        return out

    @staticmethod
    def backward(ctx, dy):
        x, weight = ctx.saved_tensors
        dx = torch.empty_like(x)
        dweight = torch.empty_like(weight) if weight is not None else None
        torch.ops.gpuforge._rms_norm_backward(dy, x, weight, dx, dweight, ctx.eps)
        return dx, dweight, None


def rms_norm(x: torch.Tensor, weight: torch.Tensor | None = None, eps: float = 1e-6) -> torch.Tensor:
    """x / sqrt(mean(x^2) + eps) * weight over the last axis."""
    if _wants_gradient(x, weight):
        return _RmsNorm.apply(x, weight, eps)
    out = torch.empty_like(x)
    (_rms_norm if _plain(x) else torch.ops.gpuforge._rms_norm)(x, out, weight, eps)
    return out
