#include "gpuforge/layout/flat_modes.h"

#include <algorithm>

namespace gpuforge::layout {

FlatModes flat_modes(const Layout& layout) {
  FlatModes modes;
  const TupleView shape = layout.shape(), stride = layout.stride();
  for (std::size_t i = 0; i < shape.node_count(); ++i)  // congruent: the same nodes
    if (shape.nodes()[i].kind != TupleNode::Kind::tuple)
      modes.push_back({shape.nodes()[i].value, stride.nodes()[i].value});
  return modes;
}

FlatModes coalesced(const FlatModes& flat, bool beyond) {
  FlatModes result;  // from the last to the first
  if (flat.empty()) return result;
  result.push_back(flat[flat.size() - 1]);
  if (beyond && result.back().shape.is(1)) result.back().shape = 2;
  for (std::size_t i = flat.size() - 1; i-- > 0;) {
    const FlatMode& mode = flat[i];
    FlatMode& front = result.back();
    if (mode.shape.is(1)) continue;
    const Integer next = mode.shape * mode.stride;
    if (result.size() == 1 && front.shape.is(1)) {
      front = mode;
    } else if (front.shape.known() && next.known() && next == front.stride) {
      front = {mode.shape * front.shape, mode.stride};
    } else {
      result.push_back(mode);
    }
  }
  std::reverse(result.begin(), result.end());
  if (result.size() == 1 && result[0].shape.is(1)) result[0].stride = 0;
  return result;
}

void LayoutBuilder::add(const FlatModes& modes) {
  if (modes.size() != 1) open();
  for (const FlatMode& mode : modes) add(mode.shape, mode.stride);
  if (modes.size() != 1) close();
}

Layout layout_of(const FlatModes& modes) {
  if (modes.empty()) return {1, 0};
  LayoutBuilder builder;
  builder.add(modes);
  return builder.take();
}

}  // namespace gpuforge::layout
