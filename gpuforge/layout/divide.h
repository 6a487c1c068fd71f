// What divisions and products share: a tiler taken apart by modes, and the three ways to arrange what comes
// out. Not installed.
#pragma once

#include "gpuforge/layout/flat_modes.h"
#include "gpuforge/layout/operation.h"

namespace gpuforge::layout {

// Tiles and rests, each together: ((tile,..),(rest,..)).
Layout zipped(const Layout& layout, const Tiler& tiler);
// The second of two modes, or both, without its parentheses.
Layout unpacked(const Layout& layout, bool both);

// `change(mode, layout)` at each layout or size of the tiler. Modes beyond the tiler stay.
template <class Change>
Layout by_mode(const Layout& layout, const Tiler& tiler, const Change& change) {
  if (const auto* const by = std::get_if<Layout>(&tiler.value())) return change(layout, *by);
  if (const auto* const size = std::get_if<Integer>(&tiler.value()))
    return change(layout, Layout(IntTuple(*size)));
  if (tiler.modes() == nullptr) return layout;
  if (tiler.modes()->size() > layout.rank()) refuse("the tiler has more modes than the layout");
  if (layout.rank() == 0) refuse("() has no modes");
  LayoutBuilder builder;
  builder.open();
  for (std::size_t i = 0; i < layout.rank(); ++i) {
    const Layout mode = layout.mode(i);
    builder.add(i < tiler.modes()->size() ? by_mode(mode, (*tiler.modes())[i], change) : mode);
  }
  builder.close();
  return builder.take();
}

}  // namespace gpuforge::layout
