"""What was measured of one case."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .cases import Case


@dataclasses.dataclass
class Result:
    case: Case
    microseconds: dict[str, float] = dataclasses.field(default_factory=dict)  # median, by contender
    ratios: dict[str, float] = dataclasses.field(default_factory=dict)  # time over ours, median of the rounds
    notes: dict[str, str] = dataclasses.field(default_factory=dict)  # why one is missing
    ceiling_microseconds: float = math.inf  # nothing was measured

    def share(self) -> float:
        known = "gpuforge" in self.microseconds and math.isfinite(self.ceiling_microseconds)
        return self.ceiling_microseconds / self.microseconds["gpuforge"] if known else math.nan
