"""Where arrays' memory comes from."""

from collections.abc import Sequence
from typing import Any

import gpuforge._core


class MemoryPool:
    """Memory of a device with a quota, that is kept and handed out again."""

    def __init__(self, quota: int = 0, device: str | None = None) -> None: ...

    def empty(self, shape: int | Sequence[int], dtype: object = 'float32', *, tag: str = '', evictable: bool = False) -> gpuforge._core.Array:
        """
        An array from this pool. An evictable one may lose its memory to the host while nobody uses it.
        """

    def evict(self, array: gpuforge._core.Array) -> bool:
        """An idle evictable array goes to the host now; False when it cannot."""

    def resident(self, array: gpuforge._core.Array) -> bool: ...

    def trim(self) -> int:
        """Gives back what is cached and idle: the bytes."""

    def can_reserve(self, bytes: int) -> bool: ...

    def stats(self) -> dict[str, Any]: ...

    @property
    def quota(self) -> int: ...

    @property
    def used(self) -> int: ...

    def __repr__(self) -> str: ...

def default_pool(device: str | None = None) -> MemoryPool:
    """The pool that arrays come from which name none."""
