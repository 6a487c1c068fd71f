"""The C++ library gpuforge, as Python sees it. Import gpuforge instead."""

from collections.abc import Iterator, Sequence
import types
from typing import Any

import numpy

from gpuforge._core import (
    lab as lab,
    layout as layout,
    memory as memory,
    profiling as profiling,
    scheduler as scheduler,
    torch_ops as torch_ops
)


def version() -> str: ...

class DType:
    """
    The type of an array's elements. Equal to its names and to NumPy's dtype.
    """

    def __init__(self, value: object) -> None: ...

    @property
    def name(self) -> str: ...

    @property
    def short_name(self) -> str: ...

    @property
    def itemsize(self) -> int: ...

    @property
    def is_floating(self) -> bool: ...

    @property
    def numpy(self) -> object:
        """The NumPy dtype; bfloat16 and fp8 are those of ml_dtypes."""

    def __repr__(self) -> str: ...

    def __str__(self) -> str: ...

    def __hash__(self) -> int: ...

    def __eq__(self, other: object, /) -> bool: ...

    def __ne__(self, other: object, /) -> bool: ...

    def __reduce__(self) -> tuple[Any, ...]: ...

float64: DType = ...

float32: DType = ...

float16: DType = ...

bfloat16: DType = ...

float8_e4m3fn: DType = ...

float8_e5m2: DType = ...

int64: DType = ...

int32: DType = ...

int16: DType = ...

int8: DType = ...

uint8: DType = ...

bool_: DType = ...

def dtype(value: object) -> DType:
    """
    The dtype that a name, a NumPy dtype or a Python type stands for.

    >>> gf.dtype('bfloat16').itemsize
    2
    """

def _close() -> None: ...

def _take_messages() -> None: ...

class Stream:
    """
    An ordered queue of work. `with stream:` makes it where this thread's work on its device goes.
    """

    def __init__(self, device: str | None = None, priority: int = 0) -> None: ...

    @property
    def device(self) -> str: ...

    @property
    def handle(self) -> int:
        """The driver's handle (a CUstream); 0 where there is none."""

    def __cuda_stream__(self) -> tuple[int, int]: ...

    @property
    def done(self) -> bool: ...

    @property
    def capturing(self) -> bool: ...

    def synchronize(self) -> None:
        """Waits for all that was queued here, and raises what went wrong in it."""

    def wait(self, event: Event) -> None:
        """What is queued from now on runs after the event."""

    def record(self, event: Event) -> None: ...

    def __enter__(self) -> Stream: ...

    def __exit__(self, *exc: object) -> None: ...

class Event:
    """A point in a stream's order, with a time."""

    def __init__(self, device: str | None = None, timing: bool = True) -> None: ...

    def record(self, stream: Stream | int | None = None) -> None: ...

    @property
    def done(self) -> bool: ...

    def synchronize(self) -> None: ...

    def elapsed_ms_since(self, earlier: Event) -> float:
        """Milliseconds from `earlier` to this; both recorded and done."""

class Graph:
    """
    Recorded work that replays as one.

    Work inside `with graph.capture():` is recorded and not run; launch() runs it.
    """

    def __init__(self, device: str | None = None) -> None: ...

    def _begin(self) -> None: ...

    def _end(self, keep: bool) -> None: ...

    @property
    def node_count(self) -> int: ...

    def launch(self, stream: Stream | int | None = None) -> None: ...

    def update(self, other: Graph) -> None:
        """Takes over the work of `other`, recorded with the same shape."""

def get_device_info(device: str | None = None) -> dict[str, Any]:
    """
    What is known of a device.

    >>> gf.get_device_info('sim')['compute_capability']
    (9, 0)
    """

def memory_info(device: str | None = None) -> tuple[int, int]:
    """Bytes that are free, and all of them."""

def devices() -> list[dict[str, Any]]:
    """What there is here, usable or not, and why not."""

def is_cuda_available() -> bool:
    """Whether a GPU can be used. Never raises."""

def is_nvrtc_available() -> bool:
    """Whether NVIDIA's run-time compiler is here. Never raises."""

def synchronize(device: str | None = None) -> None:
    """Waits for all work of a device, and raises what went wrong in it."""

def set_default_device(device: str | None) -> None:
    """
    Where arrays go that name no device: 'cuda:0', 'sim', 'cpu'; None: the best there is.
    """

def get_default_device() -> str: ...

def current_stream(device: str | None = None) -> Stream: ...

def external_stream(stream: object, device: str | None = None) -> Stream:
    """
    A stream of another library: its handle, or an object with __cuda_stream__.
    """

def _push_device(arg: str, /) -> None: ...

def _pop_device() -> None: ...

class Array:
    """
    Elements of one dtype on a device: a shape and strides over memory that views share.
    """

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def strides(self) -> tuple[int, ...]:
        """In bytes, as NumPy's."""

    @property
    def dtype(self) -> DType: ...

    @property
    def device(self) -> str: ...

    @property
    def ndim(self) -> int: ...

    @property
    def size(self) -> int: ...

    @property
    def nbytes(self) -> int: ...

    @property
    def itemsize(self) -> int: ...

    @property
    def device_ptr(self) -> int:
        """The address of the first element, good while the array lives."""

    @property
    def is_contiguous(self) -> bool: ...

    @property
    def T(self) -> Array:
        """A view with the axes reversed."""

    @property
    def mT(self) -> Array:
        """A view with the last two axes exchanged."""

    def __getitem__(self, index: object, /) -> Array: ...

    def __setitem__(self, index: object, value: object, /) -> None: ...

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Array]: ...

    def __repr__(self) -> str: ...

    def __bool__(self) -> bool: ...

    def __float__(self) -> float: ...

    def __int__(self) -> int: ...

    def __index__(self) -> int: ...

    def item(self) -> bool | int | float:
        """The one element, as a Python number."""

    def tolist(self) -> Any: ...

    def to_numpy(self, stream: object = None) -> numpy.ndarray:
        """
        A copy as a NumPy array; waits for the stream. bfloat16 and fp8 need ml_dtypes.
        """

    def reshape(self, *shape: int | Sequence[int], copy: bool | None = None) -> Array:
        """
        A view where one can have the shape, else a copy. copy=False: an error instead.
        """

    def transpose(self, *axes: int | Sequence[int]) -> Array:
        """A view."""

    def broadcast_to(self, shape: int | Sequence[int]) -> Array:
        """A view."""

    def astype(self, dtype: object, *, copy: bool = True, stream: object = None) -> Array: ...

    def copy(self, stream: object = None) -> Array: ...

    def contiguous(self, stream: object = None) -> Array:
        """Itself, or a row-major copy."""

    def fill(self, value: float) -> None: ...

    def to_device(self, device: str, *, stream: object = None) -> Array:
        """Itself, or a copy on another device, through the host."""

    def shares_memory_with(self, other: Array) -> bool: ...

    def squeeze(self, axis: int | Sequence[int] | None = None) -> Array:
        """A view."""

    def ravel(self) -> Array:
        """One axis; a view where there is one."""

    def flatten(self) -> Array:
        """One axis; always a copy."""

    def __dlpack__(self, *, stream: int | None = None, max_version: tuple[int, int] | None = None, dl_device: tuple[int, int] | None = None, copy: bool | None = None) -> Any: ...

    def __dlpack_device__(self) -> tuple[int, int]: ...

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> numpy.ndarray: ...

    def __array_namespace__(self, *, api_version: str | None = None) -> types.ModuleType: ...

    def __add__(self, other: object, /) -> Array: ...

    def __radd__(self, other: object, /) -> Array: ...

    def __iadd__(self, other: object, /) -> Array: ...

    def __sub__(self, other: object, /) -> Array: ...

    def __rsub__(self, other: object, /) -> Array: ...

    def __isub__(self, other: object, /) -> Array: ...

    def __mul__(self, other: object, /) -> Array: ...

    def __rmul__(self, other: object, /) -> Array: ...

    def __imul__(self, other: object, /) -> Array: ...

    def __truediv__(self, other: object, /) -> Array: ...

    def __rtruediv__(self, other: object, /) -> Array: ...

    def __itruediv__(self, other: object, /) -> Array: ...

    def __floordiv__(self, other: object, /) -> Array: ...

    def __rfloordiv__(self, other: object, /) -> Array: ...

    def __ifloordiv__(self, other: object, /) -> Array: ...

    def __mod__(self, other: object, /) -> Array: ...

    def __rmod__(self, other: object, /) -> Array: ...

    def __imod__(self, other: object, /) -> Array: ...

    def __and__(self, other: object, /) -> Array: ...

    def __rand__(self, other: object, /) -> Array: ...

    def __iand__(self, other: object, /) -> Array: ...

    def __or__(self, other: object, /) -> Array: ...

    def __ror__(self, other: object, /) -> Array: ...

    def __ior__(self, other: object, /) -> Array: ...

    def __xor__(self, other: object, /) -> Array: ...

    def __rxor__(self, other: object, /) -> Array: ...

    def __ixor__(self, other: object, /) -> Array: ...

    def __eq__(self, other: object, /) -> Array: ...

    def __ne__(self, other: object, /) -> Array: ...

    def __lt__(self, other: object, /) -> Array: ...

    def __le__(self, other: object, /) -> Array: ...

    def __gt__(self, other: object, /) -> Array: ...

    def __ge__(self, other: object, /) -> Array: ...

    def __pow__(self, other: object, modulo: None = None, /) -> Array: ...

    def __rpow__(self, other: object, modulo: None = None, /) -> Array: ...

    def __neg__(self) -> Array: ...

    def __abs__(self) -> Array: ...

    def __invert__(self) -> Array: ...

    def __pos__(self) -> Array: ...

    __array_ufunc__: None = None

    __hash__: None = None

    def sum(self, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, out: Array | None = None, stream: object = None) -> Array: ...

    def mean(self, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, out: Array | None = None, stream: object = None) -> Array: ...

    def prod(self, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, out: Array | None = None, stream: object = None) -> Array: ...

    def max(self, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, out: Array | None = None, stream: object = None) -> Array: ...

    def min(self, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, out: Array | None = None, stream: object = None) -> Array: ...

    def any(self, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, out: Array | None = None, stream: object = None) -> Array: ...

    def all(self, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, out: Array | None = None, stream: object = None) -> Array: ...

    def argmax(self, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, out: Array | None = None, stream: object = None) -> Array: ...

    def argmin(self, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, out: Array | None = None, stream: object = None) -> Array: ...

    def __matmul__(self, other: Array, /) -> Array: ...

def empty(shape: int | Sequence[int], dtype: object = 'float32', *, device: str | None = None, stream: object = None) -> Array:
    """An array whose elements are whatever was there."""

def zeros(shape: int | Sequence[int], dtype: object = 'float32', *, device: str | None = None, stream: object = None) -> Array:
    """
    >>> gf.zeros((2, 2), device='cpu')
    array([[0., 0.],
           [0., 0.]], dtype=f32, device=cpu)
    """

def ones(shape: int | Sequence[int], dtype: object = 'float32', *, device: str | None = None, stream: object = None) -> Array:
    """
    >>> gf.ones(3, 'int32', device='cpu')
    array([1, 1, 1], dtype=i32, device=cpu)
    """

def full(shape: int | Sequence[int], value: object, dtype: object = None, *, device: str | None = None, stream: object = None) -> Array:
    """Every element is `value`; of its kind unless a dtype is given."""

def arange(start: float, stop: float | None = None, step: float = 1, dtype: object = None, *, device: str | None = None, stream: object = None) -> Array:
    """
    >>> gf.arange(3, device='cpu')
    array([0, 1, 2], dtype=i64, device=cpu)
    """

def array(value: object, dtype: object = None, *, device: str | None = None, stream: object = None) -> Array:
    """
    A copy of a NumPy array, an array, nested lists or a number. Python's floats become float32.

    >>> gf.array([[1, 2], [3, 4]], 'bfloat16', device='cpu')
    array([[1., 2.],
           [3., 4.]], dtype=bf16, device=cpu)
    """

def from_numpy(value: object, dtype: object = None, *, device: str | None = None, stream: object = None) -> Array:
    """A copy of a NumPy array on the device."""

def concat(arrays: Sequence[Array], axis: int = 0) -> Array: ...

def stack(arrays: Sequence[Array], axis: int = 0) -> Array: ...

def squeeze(x: Array, axis: int | Sequence[int] | None = None) -> Array:
    """A view."""

def expand_dims(x: Array, axis: int | Sequence[int]) -> Array:
    """A view."""

def moveaxis(x: Array, source: int, destination: int) -> Array:
    """A view."""

def swapaxes(x: Array, axis1: int, axis2: int) -> Array:
    """A view."""

def from_dlpack(x: object, /, *, device: str | None = None, copy: bool | None = None) -> Array:
    """
    An array over the memory of another library's, in the order of its stream. A copy for read-only memory, of JAX's arrays, which never change (copy=False: over their memory, to be read), for another device, or when asked for.
    """

def asarray(x: object, dtype: object = None, *, device: str | None = None, copy: bool | None = None, stream: object = None) -> Array:
    """
    Itself, a view of another library's memory, or a copy where there is no other way.

    >>> import numpy as np
    >>> there = np.zeros(2)
    >>> here = gf.asarray(there, device='cpu')
    >>> here[0] = 5
    >>> gf.synchronize('cpu')
    >>> float(there[0])
    5.0
    """

def allclose(a: Array, b: Array, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool: ...

def array_equal(a: Array, b: Array) -> bool: ...

def add(a: object, b: object, *, out: Array | None = None, stream: object = None) -> Array:
    """a + b. Broadcasts; `out` is written instead of a new array."""

def sub(a: object, b: object, *, out: Array | None = None, stream: object = None) -> Array:
    """a - b. Broadcasts; `out` is written instead of a new array."""

def subtract(a: object, b: object, *, out: Array | None = None, stream: object = None) -> Array:
    """a - b. Broadcasts; `out` is written instead of a new array."""

def mul(a: object, b: object, *, out: Array | None = None, stream: object = None) -> Array:
    """a * b. Broadcasts; `out` is written instead of a new array."""

def multiply(a: object, b: object, *, out: Array | None = None, stream: object = None) -> Array:
    """a * b. Broadcasts; `out` is written instead of a new array."""

def div(a: object, b: object, *, out: Array | None = None, stream: object = None) -> Array:
    """a / b, in floats. Broadcasts; `out` is written instead of a new array."""

def divide(a: object, b: object, *, out: Array | None = None, stream: object = None) -> Array:
    """a / b, in floats. Broadcasts; `out` is written instead of a new array."""

def floor_div(a: object, b: object, *, out: Array | None = None, stream: object = None) -> Array:
    """
    a / b rounded down. Broadcasts; `out` is written instead of a new array.
    """

def floor_divide(a: object, b: object, *, out: Array | None = None, stream: object = None) -> Array:
    """
    a / b rounded down. Broadcasts; `out` is written instead of a new array.
    """

def mod(a: object, b: object, *, out: Array | None = None, stream: object = None) -> Array:
    """
    what floor_div leaves; has the sign of b. Broadcasts; `out` is written instead of a new array.
    """

def remainder(a: object, b: object, *, out: Array | None = None, stream: object = None) -> Array:
    """
    what floor_div leaves; has the sign of b. Broadcasts; `out` is written instead of a new array.
    """

def pow(a: object, b: object, *, out: Array | None = None, stream: object = None) -> Array:
    """
    a to the power of b. Broadcasts; `out` is written instead of a new array.
    """

def power(a: object, b: object, *, out: Array | None = None, stream: object = None) -> Array:
    """
    a to the power of b. Broadcasts; `out` is written instead of a new array.
    """

def maximum(a: object, b: object, *, out: Array | None = None, stream: object = None) -> Array:
    """
    the larger of a and b. Broadcasts; `out` is written instead of a new array.
    """

def minimum(a: object, b: object, *, out: Array | None = None, stream: object = None) -> Array:
    """
    the smaller of a and b. Broadcasts; `out` is written instead of a new array.
    """

def eq(a: object, b: object, *, out: Array | None = None, stream: object = None) -> Array:
    """a == b. Broadcasts; `out` is written instead of a new array."""

def equal(a: object, b: object, *, out: Array | None = None, stream: object = None) -> Array:
    """a == b. Broadcasts; `out` is written instead of a new array."""

def ne(a: object, b: object, *, out: Array | None = None, stream: object = None) -> Array:
    """a != b. Broadcasts; `out` is written instead of a new array."""

def not_equal(a: object, b: object, *, out: Array | None = None, stream: object = None) -> Array:
    """a != b. Broadcasts; `out` is written instead of a new array."""

def lt(a: object, b: object, *, out: Array | None = None, stream: object = None) -> Array:
    """a < b. Broadcasts; `out` is written instead of a new array."""

def less(a: object, b: object, *, out: Array | None = None, stream: object = None) -> Array:
    """a < b. Broadcasts; `out` is written instead of a new array."""

def le(a: object, b: object, *, out: Array | None = None, stream: object = None) -> Array:
    """a <= b. Broadcasts; `out` is written instead of a new array."""

def less_equal(a: object, b: object, *, out: Array | None = None, stream: object = None) -> Array:
    """a <= b. Broadcasts; `out` is written instead of a new array."""

def gt(a: object, b: object, *, out: Array | None = None, stream: object = None) -> Array:
    """a > b. Broadcasts; `out` is written instead of a new array."""

def greater(a: object, b: object, *, out: Array | None = None, stream: object = None) -> Array:
    """a > b. Broadcasts; `out` is written instead of a new array."""

def ge(a: object, b: object, *, out: Array | None = None, stream: object = None) -> Array:
    """a >= b. Broadcasts; `out` is written instead of a new array."""

def greater_equal(a: object, b: object, *, out: Array | None = None, stream: object = None) -> Array:
    """a >= b. Broadcasts; `out` is written instead of a new array."""

def logical_and(a: object, b: object, *, out: Array | None = None, stream: object = None) -> Array:
    """a and b. Broadcasts; `out` is written instead of a new array."""

def logical_or(a: object, b: object, *, out: Array | None = None, stream: object = None) -> Array:
    """a or b. Broadcasts; `out` is written instead of a new array."""

def logical_xor(a: object, b: object, *, out: Array | None = None, stream: object = None) -> Array:
    """a or b, not both. Broadcasts; `out` is written instead of a new array."""

def logical_not(a: object, *, out: Array | None = None, stream: object = None) -> Array:
    """not a. Broadcasts; `out` is written instead of a new array."""

def bitwise_and(a: object, b: object, *, out: Array | None = None, stream: object = None) -> Array:
    """a & b. Broadcasts; `out` is written instead of a new array."""

def bitwise_or(a: object, b: object, *, out: Array | None = None, stream: object = None) -> Array:
    """a | b. Broadcasts; `out` is written instead of a new array."""

def bitwise_xor(a: object, b: object, *, out: Array | None = None, stream: object = None) -> Array:
    """a ^ b. Broadcasts; `out` is written instead of a new array."""

def bitwise_not(a: object, *, out: Array | None = None, stream: object = None) -> Array:
    """~a. Broadcasts; `out` is written instead of a new array."""

def invert(a: object, *, out: Array | None = None, stream: object = None) -> Array:
    """~a. Broadcasts; `out` is written instead of a new array."""

def where(a: object, b: object, c: object, *, out: Array | None = None, stream: object = None) -> Array:
    """
    b where a is not 0, c elsewhere. Broadcasts; `out` is written instead of a new array.
    """

def clamp(a: object, b: object, c: object, *, out: Array | None = None, stream: object = None) -> Array:
    """
    a, at least b and at most c. Broadcasts; `out` is written instead of a new array.
    """

def clip(a: object, b: object, c: object, *, out: Array | None = None, stream: object = None) -> Array:
    """
    a, at least b and at most c. Broadcasts; `out` is written instead of a new array.
    """

def neg(a: object, *, out: Array | None = None, stream: object = None) -> Array:
    """-a. Broadcasts; `out` is written instead of a new array."""

def negative(a: object, *, out: Array | None = None, stream: object = None) -> Array:
    """-a. Broadcasts; `out` is written instead of a new array."""

def abs(a: object, *, out: Array | None = None, stream: object = None) -> Array:
    """|a|. Broadcasts; `out` is written instead of a new array."""

def absolute(a: object, *, out: Array | None = None, stream: object = None) -> Array:
    """|a|. Broadcasts; `out` is written instead of a new array."""

def sign(a: object, *, out: Array | None = None, stream: object = None) -> Array:
    """-1, 0 or 1. Broadcasts; `out` is written instead of a new array."""

def square(a: object, *, out: Array | None = None, stream: object = None) -> Array:
    """a * a. Broadcasts; `out` is written instead of a new array."""

def floor(a: object, *, out: Array | None = None, stream: object = None) -> Array:
    """
    the whole number at or below a. Broadcasts; `out` is written instead of a new array.
    """

def ceil(a: object, *, out: Array | None = None, stream: object = None) -> Array:
    """
    the whole number at or above a. Broadcasts; `out` is written instead of a new array.
    """

def round(a: object, *, out: Array | None = None, stream: object = None) -> Array:
    """
    the nearest whole number, halves to even. Broadcasts; `out` is written instead of a new array.
    """

def rint(a: object, *, out: Array | None = None, stream: object = None) -> Array:
    """
    the nearest whole number, halves to even. Broadcasts; `out` is written instead of a new array.
    """

def relu(a: object, *, out: Array | None = None, stream: object = None) -> Array:
    """
    a where it is above 0, else 0. Broadcasts; `out` is written instead of a new array.
    """

def isnan(a: object, *, out: Array | None = None, stream: object = None) -> Array:
    """whether a is NaN. Broadcasts; `out` is written instead of a new array."""

def isinf(a: object, *, out: Array | None = None, stream: object = None) -> Array:
    """
    whether a is an infinity. Broadcasts; `out` is written instead of a new array.
    """

def isfinite(a: object, *, out: Array | None = None, stream: object = None) -> Array:
    """
    whether a is neither an infinity nor NaN. Broadcasts; `out` is written instead of a new array.
    """

def exp(a: object, *, out: Array | None = None, stream: object = None) -> Array:
    """
    e to the power of a. Broadcasts; `out` is written instead of a new array.
    """

def exp2(a: object, *, out: Array | None = None, stream: object = None) -> Array:
    """
    2 to the power of a. Broadcasts; `out` is written instead of a new array.
    """

def expm1(a: object, *, out: Array | None = None, stream: object = None) -> Array:
    """
    exp(a) - 1, with its digits near 0. Broadcasts; `out` is written instead of a new array.
    """

def log(a: object, *, out: Array | None = None, stream: object = None) -> Array:
    """
    the natural logarithm. Broadcasts; `out` is written instead of a new array.
    """

def log2(a: object, *, out: Array | None = None, stream: object = None) -> Array:
    """
    the logarithm to base 2. Broadcasts; `out` is written instead of a new array.
    """

def log1p(a: object, *, out: Array | None = None, stream: object = None) -> Array:
    """
    log(1 + a), with its digits near 0. Broadcasts; `out` is written instead of a new array.
    """

def sqrt(a: object, *, out: Array | None = None, stream: object = None) -> Array:
    """the square root. Broadcasts; `out` is written instead of a new array."""

def rsqrt(a: object, *, out: Array | None = None, stream: object = None) -> Array:
    """1 / sqrt(a). Broadcasts; `out` is written instead of a new array."""

def reciprocal(a: object, *, out: Array | None = None, stream: object = None) -> Array:
    """1 / a, in floats. Broadcasts; `out` is written instead of a new array."""

def sin(a: object, *, out: Array | None = None, stream: object = None) -> Array:
    """
    the sine of a in radians. Broadcasts; `out` is written instead of a new array.
    """

def cos(a: object, *, out: Array | None = None, stream: object = None) -> Array:
    """
    the cosine of a in radians. Broadcasts; `out` is written instead of a new array.
    """

def tanh(a: object, *, out: Array | None = None, stream: object = None) -> Array:
    """
    the hyperbolic tangent. Broadcasts; `out` is written instead of a new array.
    """

def erf(a: object, *, out: Array | None = None, stream: object = None) -> Array:
    """
    the error function. Broadcasts; `out` is written instead of a new array.
    """

def sigmoid(a: object, *, out: Array | None = None, stream: object = None) -> Array:
    """
    1 / (1 + exp(-a)). Broadcasts; `out` is written instead of a new array.
    """

def silu(a: object, *, out: Array | None = None, stream: object = None) -> Array:
    """a * sigmoid(a). Broadcasts; `out` is written instead of a new array."""

def swish(a: object, *, out: Array | None = None, stream: object = None) -> Array:
    """a * sigmoid(a). Broadcasts; `out` is written instead of a new array."""

def gelu(a: object, *, out: Array | None = None, stream: object = None) -> Array:
    """
    a / 2 * (1 + erf(a / sqrt(2))). Broadcasts; `out` is written instead of a new array.
    """

def sum(x: Array, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, out: Array | None = None, stream: object = None) -> Array: ...

def mean(x: Array, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, out: Array | None = None, stream: object = None) -> Array: ...

def prod(x: Array, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, out: Array | None = None, stream: object = None) -> Array: ...

def max(x: Array, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, out: Array | None = None, stream: object = None) -> Array: ...

def min(x: Array, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, out: Array | None = None, stream: object = None) -> Array: ...

def any(x: Array, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, out: Array | None = None, stream: object = None) -> Array: ...

def all(x: Array, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, out: Array | None = None, stream: object = None) -> Array: ...

def argmax(x: Array, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, out: Array | None = None, stream: object = None) -> Array: ...

def argmin(x: Array, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, out: Array | None = None, stream: object = None) -> Array: ...

def matmul(a: Array, b: Array, *, out: Array | None = None, stream: object = None) -> Array:
    """
    NumPy's matmul.

    >>> (gf.ones((2, 3), device='cpu') @ gf.ones(3, device='cpu')).tolist()
    [3.0, 3.0]
    """

def softmax(x: Array, axis: int = -1, *, stream: object = None) -> Array:
    """Of float16, bfloat16 or float32."""

def transpose(x: Array, axes: Sequence[int] | None = None) -> Array:
    """A view."""

def reshape(x: Array, shape: int | Sequence[int]) -> Array: ...

def broadcast_to(x: Array, shape: int | Sequence[int]) -> Array:
    """A view."""

class Expression:
    """What a function that is fused computes with instead of arrays."""

    def __repr__(self) -> str: ...

    def __add__(self, other: object, /) -> Expression: ...

    def __radd__(self, other: object, /) -> Expression: ...

    def __sub__(self, other: object, /) -> Expression: ...

    def __rsub__(self, other: object, /) -> Expression: ...

    def __mul__(self, other: object, /) -> Expression: ...

    def __rmul__(self, other: object, /) -> Expression: ...

    def __truediv__(self, other: object, /) -> Expression: ...

    def __rtruediv__(self, other: object, /) -> Expression: ...

    def __mod__(self, other: object, /) -> Expression: ...

    def __rmod__(self, other: object, /) -> Expression: ...

    def __floordiv__(self, other: object, /) -> Expression: ...

    def __rfloordiv__(self, other: object, /) -> Expression: ...

    def __and__(self, other: object, /) -> Expression: ...

    def __rand__(self, other: object, /) -> Expression: ...

    def __or__(self, other: object, /) -> Expression: ...

    def __ror__(self, other: object, /) -> Expression: ...

    def __pow__(self, other: object, /) -> Expression: ...

    def __rpow__(self, other: object, /) -> Expression: ...

    def __lt__(self, other: object, /) -> Expression: ...

    def __le__(self, other: object, /) -> Expression: ...

    def __gt__(self, other: object, /) -> Expression: ...

    def __ge__(self, other: object, /) -> Expression: ...

    def __neg__(self) -> Expression: ...

class Fused:
    """
    Elementwise calls as one kernel. Call it as the function it was made of.
    """

    def __call__(self, *arguments: object, out: Array | None = None, stream: object = None) -> Array: ...

    def source(self, *arguments: object) -> str:
        """The kernel's body for such arguments, to read."""

    def __repr__(self) -> str: ...

def _argument(index: int) -> Expression: ...

def _fused(result: object, arguments: int) -> Fused: ...

class Kernel:
    """
    A kernel of CUDA C++. Call it with arrays and numbers; it is compiled for a device at its first launch there.
    """

    def __call__(self, *args: object, grid: object = None, block: object = None, stream: object = None, shared: int | None = None, cluster: object = None, cooperative: bool | None = None) -> None: ...

    def launch(self, *args: object, grid: object = None, block: object = None, stream: object = None, shared: int | None = None, cluster: object = None, cooperative: bool | None = None) -> None: ...

    def compile(self, device: str | None = None) -> None:
        """Compiles it for a device now. A mistake in the text is a CompileError."""

    @property
    def name(self) -> str: ...

    @property
    def source(self) -> str: ...

    @property
    def block_size(self) -> tuple[int, int, int]: ...

    @property
    def is_compiled(self) -> bool: ...

    def parameters(self, device: str | None = None) -> list[dict[str, Any]]: ...

    def ptx(self, device: str | None = None) -> str: ...

    def resources(self, device: str | None = None) -> dict[str, Any]: ...

def _make_kernel(source: object, func: str, options: Sequence[str], defines: Sequence[str], include_dirs: Sequence[str], block_size: object) -> Kernel: ...
