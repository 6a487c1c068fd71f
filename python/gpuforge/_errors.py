"""Exceptions: the one table from the library's error codes to Python's classes."""


class GpuforgeError(Exception):
    """Base of all errors of gpuforge. `code` is the library's, `detail` the long text (a compiler's log)."""

    code: str = "internal"
    detail: str = ""


class InvalidArgumentError(GpuforgeError, ValueError):
    """A value that cannot be used: the message says what was expected and what was found."""


class InvalidIndexError(InvalidArgumentError, IndexError):
    """An index that is not in the array."""


class OutOfMemoryError(GpuforgeError, MemoryError):
    """The device, or a limit, has less memory than was asked for."""


class UnsupportedError(GpuforgeError, NotImplementedError):
    """Right, but not something this device or version does."""


class UnavailableError(GpuforgeError, RuntimeError):
    """The environment lacks something: a driver, a compiler, a package."""


class CompileError(GpuforgeError, RuntimeError):
    """A kernel does not compile; `compilation_log` has the compiler's words."""

    @property
    def compilation_log(self) -> str:
        return self.detail


class ParseError(GpuforgeError, ValueError):
    """Text or a file that is not in its format."""


class FileError(GpuforgeError, OSError):
    """A file that cannot be read."""


class CudaError(GpuforgeError, RuntimeError):
    """The driver refused a call, or a kernel failed."""


class InternalError(GpuforgeError, RuntimeError):
    """A fault of gpuforge."""


BY_CODE: dict[str, type[GpuforgeError]] = {
    "invalid_argument": InvalidArgumentError,
    "invalid_index": InvalidIndexError,
    "out_of_memory": OutOfMemoryError,
    "unsupported": UnsupportedError,
    "unavailable": UnavailableError,
    "compile": CompileError,
    "parse": ParseError,
    "io": FileError,
    "cuda": CudaError,
    "internal": InternalError,
}
