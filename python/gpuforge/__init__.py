"""NumPy-like arrays, custom kernels and a kernel lab on GPUs, in the simulator and on the CPU.

>>> import gpuforge as gf
>>> gf.arange(6, device="cpu").reshape(2, 3)[:, ::-1].tolist()
[[2, 1, 0], [5, 4, 3]]
"""

import atexit as _atexit
import sys as _sys

from . import _core
from ._core import (
    Array,
    DType,
    Event,
    Stream,
    __version__,
    abs,
    absolute,
    add,
    all,
    allclose,
    any,
    arange,
    argmax,
    argmin,
    array,
    array_equal,
    asarray,
    bfloat16,
    bitwise_and,
    bitwise_not,
    bitwise_or,
    bitwise_xor,
    bool_,
    broadcast_to,
    ceil,
    clamp,
    clip,
    cos,
    current_stream,
    devices,
    div,
    divide,
    dtype,
    empty,
    eq,
    equal,
    erf,
    exp,
    exp2,
    expm1,
    external_stream,
    float8_e4m3fn,
    float8_e5m2,
    float16,
    float32,
    float64,
    floor,
    floor_div,
    floor_divide,
    from_dlpack,
    from_numpy,
    full,
    ge,
    gelu,
    get_default_device,
    get_device_info,
    greater,
    greater_equal,
    gt,
    int8,
    int16,
    int32,
    int64,
    invert,
    is_cuda_available,
    is_nvrtc_available,
    isfinite,
    isinf,
    isnan,
    le,
    less,
    less_equal,
    log,
    log1p,
    log2,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    lt,
    matmul,
    max,
    maximum,
    mean,
    memory_info,
    min,
    minimum,
    mod,
    mul,
    multiply,
    ne,
    neg,
    negative,
    not_equal,
    ones,
    pow,
    power,
    prod,
    reciprocal,
    relu,
    remainder,
    reshape,
    rint,
    round,
    rsqrt,
    set_default_device,
    sigmoid,
    sign,
    silu,
    sin,
    softmax,
    sqrt,
    square,
    sub,
    subtract,
    sum,
    swish,
    synchronize,
    tanh,
    transpose,
    uint8,
    where,
    zeros,
)
from ._errors import (
    CompileError,
    CudaError,
    FileError,
    GpuforgeError,
    InternalError,
    InvalidArgumentError,
    InvalidIndexError,
    OutOfMemoryError,
    ParseError,
    UnavailableError,
    UnsupportedError,
)
from ._kernels import Kernel, jit
from ._scopes import Graph, default_device

from . import lab, profiling  # isort: skip

layout = _core.layout
memory = _core.memory
scheduler = _core.scheduler
for _name in ["layout", "memory", "scheduler"]:
    _sys.modules[f"{__name__}.{_name}"] = getattr(_core, _name)

_atexit.register(_core._close)

bool = bool_  # as numpy.bool; the rest of this file does not use Python's
newaxis = None
GPUArray = Array

__all__ = [name for name in dir() if not name.startswith("_")]
