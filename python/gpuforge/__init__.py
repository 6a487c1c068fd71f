"""NumPy-like arrays, custom kernels and a kernel lab on GPUs, in the simulator and on the CPU.

>>> import gpuforge as gf
>>> gf.arange(6, device="cpu").reshape(2, 3)[:, ::-1].tolist()
[[2, 1, 0], [5, 4, 3]]
"""

import atexit as _atexit

from . import _core
from ._core import (
    Array,
    DType,
    Event,
    Stream,
    __version__,
    allclose,
    arange,
    array,
    array_equal,
    asarray,
    bfloat16,
    bool_,
    current_stream,
    devices,
    dtype,
    empty,
    external_stream,
    float8_e4m3fn,
    float8_e5m2,
    float16,
    float32,
    float64,
    from_dlpack,
    from_numpy,
    full,
    get_default_device,
    get_device_info,
    int8,
    int16,
    int32,
    int64,
    is_cuda_available,
    is_nvrtc_available,
    memory_info,
    ones,
    set_default_device,
    synchronize,
    uint8,
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

_atexit.register(_core._close)

bool = bool_  # as numpy.bool; the rest of this file does not use Python's
newaxis = None
GPUArray = Array

__all__ = [name for name in dir() if not name.startswith("_")]
