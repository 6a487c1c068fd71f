#include "gpuforge/layout/flat_modes.h"

#include <algorithm>

#include "gpuforge/layout/operation.h"

namespace gpuforge::layout {

FlatModes flat_modes(LayoutView layout) {
  FlatModes modes;
  const TupleNode *const shape = layout.shape.nodes(), *const stride = layout.stride.nodes();
  for (std::size_t i = 0; i < layout.shape.node_count(); ++i)  // congruent: the same nodes
    if (shape[i].kind != TupleNode::Kind::tuple) modes.push_back({shape[i].value, stride[i].value});
  return modes;
}

FlatModes some_flat_modes(LayoutView layout) {
  FlatModes modes = flat_modes(layout);
  if (modes.empty()) refuse("() has no modes");
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

FlatModes filtered(FlatModes flat) {
  for (FlatMode& mode : flat)
    if (mode.stride.is(0)) mode.shape = 1;
  return coalesced(flat);
}

void LayoutBuilder::add(const FlatModes& modes) {
  if (modes.size() != 1) open();
  for (const FlatMode& mode : modes) add(mode.shape, mode.stride);
  if (modes.size() != 1) close();
}

Layout LayoutBuilder::take() {
  GPUFORGE_ASSERT(open_.empty() && shape_.nodes_.size() > 0,
                  "layout: a layout was taken before it was whole");
  return {Layout::Congruent{}, std::move(shape_), std::move(stride_)};
}

Layout layout_of(const FlatModes& modes) {
  if (modes.empty()) return {1, 0};
  LayoutBuilder builder;
  builder.add(modes);
  return builder.take();
}

}  // namespace gpuforge::layout
