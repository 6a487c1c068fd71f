"""Where the time of a device goes.

>>> with gf.profiling.Profiler("cpu") as profiler:
...     with profiler.record("fill", bytes_transferred=4096):
...         x = gf.ones(1024, device="cpu")
>>> [span["name"] for span in profiler.report()["spans"]]
['fill']
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from . import _core


class Profiler(_core.profiling.Profiler):
    """Times ranges of this thread's work, and every kernel of the device while it is started."""

    @contextmanager
    def record(self, name: str, flops: float = 0, bytes_transferred: float = 0) -> Iterator[None]:
        """The work queued inside, on this thread's stream, is one range."""
        self._begin(name, flops, bytes_transferred)
        try:
            yield
        finally:
            self._end()

    def __enter__(self) -> Profiler:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def print_summary(self) -> None:
        print(self.summary())
