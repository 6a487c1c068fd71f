// What divisions and products share: a tiler taken apart by modes, and the ways to arrange the two halves
// that come out of each mode (tile and rest, or block and repetitions). Not installed.
#pragma once

#include "gpuforge/layout/flat_modes.h"
#include "gpuforge/layout/operation.h"

namespace gpuforge::layout {

enum class Arrangement {
  logical,  // ((first,second),..)
  zipped,   // ((first,..),(second,..))
  tiled,    // ((first,..),second,..)
  flat      // (first,..,second,..)
};

// Writes the two halves of a mode, each to its builder; for logical arrangements the two are one.
using Split = void (*)(LayoutView mode, LayoutView tiler, LayoutBuilder& first, LayoutBuilder& second);

// `split` at each layout or size of the tiler. Modes beyond the tiler stay, among the second halves. Errors
// have `name` and the operands.
Layout split_by_mode(std::string_view name, const Layout& layout, const Tiler& tiler, Split split,
                     Arrangement arrangement);
// The two halves as one layout; a logical arrangement of one mode is a zipped one.
Layout arranged(LayoutView first, LayoutView second, Arrangement arrangement);

}  // namespace gpuforge::layout
