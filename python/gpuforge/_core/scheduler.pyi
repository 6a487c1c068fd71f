"""Who may use a device when."""

from collections.abc import Generator, Sequence
from typing import Any


class Task:
    """Work that a scheduler runs in pieces. Awaitable."""

    def wait(self) -> None:
        """Until it has ended; raises what its function raised."""

    def cancel(self) -> bool: ...

    def status(self) -> dict[str, Any]: ...

    @property
    def state(self) -> str: ...

    @property
    def name(self) -> str: ...

    def __await__(self) -> Generator[Any, None, None]: ...

class Scheduler:
    """
    Admits tasks by memory and shares, and gives each its turns on the device.
    """

    def __init__(self, device: str | None = None, memory: int = 0, slots: int = 1) -> None: ...

    def submit(self, function: object, name: str = '', *, qos: str = 'best_effort', priority: int = 0, memory: int = 0, memory_limit: int | None = None, compute: float = 0.0, compute_limit: float = 1.0, after: Sequence[str] = [], deadline_ms: float | None = None, partition: str = '') -> Task:
        """
        A function that queues one piece of work (arrays of its thread go to the task's stream) and returns True while there is more.
        """

    def wait_all(self) -> None: ...

    def cancel_all(self, message: str = 'cancelled') -> None: ...

    def report(self) -> dict[str, Any]:
        """Tasks, partitions, and every decision with its reason."""

    def close(self) -> None:
        """Cancels what has not ended and waits for the rest."""

    def __enter__(self) -> Scheduler: ...

    def __exit__(self, *exc: object) -> None: ...
