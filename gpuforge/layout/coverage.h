// Which indices a layout has: each once, without gaps, as far as its modes tell without looking at every
// coordinate.
#pragma once

#include <optional>

#include "gpuforge/layout/swizzle.h"

namespace gpuforge::layout {

// Nothing: an unknown number or a rare interleaving of modes leaves it open.
struct Coverage {
  std::optional<bool> injective;  // no index twice
  std::optional<bool> compact;    // each of 0 .. size-1 once
};
Coverage coverage(const AnyLayout& layout);

}  // namespace gpuforge::layout
