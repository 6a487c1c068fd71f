"""Where the time of a device goes."""

from typing import Any


class Profiler:
    """Times ranges of a stream's work, and every kernel while it is started."""

    def __init__(self, device: str | None = None) -> None: ...

    def start(self) -> None:
        """From now on each kernel of the device is a range."""

    def stop(self) -> None: ...

    def _begin(self, name: str, flops: float, bytes: float) -> None: ...

    def _end(self) -> None: ...

    def report(self) -> dict[str, Any]: ...

    def summary(self) -> str: ...

    def export_chrome_trace(self, path: str) -> None:
        """For Perfetto or chrome://tracing."""

    def clear(self) -> None: ...
