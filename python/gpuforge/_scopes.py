"""What is used in a with statement."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from . import _core


class Graph(_core.Graph):
    """Recorded work that replays as one.

    >>> x = gf.zeros(4, device="cpu")
    >>> graph = gf.Graph("cpu")
    >>> with graph.capture():
    ...     x[:] = 3
    >>> x.tolist()
    [0.0, 0.0, 0.0, 0.0]
    >>> graph.launch()
    >>> x.tolist()
    [3.0, 3.0, 3.0, 3.0]
    """

    @contextmanager
    def capture(self) -> Iterator[Graph]:
        """Work of this thread on the graph's device is recorded inside, and not run."""
        self._begin()
        try:
            yield self
        except BaseException:
            self._end(False)
            raise
        self._end(True)


@contextmanager
def default_device(device: str) -> Iterator[str]:
    """Where arrays of this thread go inside that name no device.

    >>> with gf.default_device("sim"):
    ...     gf.zeros(1).device
    'sim'
    """
    _core._push_device(device)
    try:
        yield device
    finally:
        _core._pop_device()
