#include "gpuforge/layout/flat_modes.h"
#include "gpuforge/layout/operation.h"

namespace gpuforge::layout {
namespace {

std::string text(Integer integer) {
  return to_text(IntTuple(integer));
}

// Every stride-th of the modes' coordinates, `shape` of them. `modes` are coalesced, so that a piece that
// runs from one mode into the next is only possible where it takes all of the first.
FlatModes composed(const FlatModes& modes, Integer shape, Integer stride) {
  FlatModes result;
  if (stride.is(0)) {
    result.push_back({shape, stride});
    return result;
  }
  if (modes.size() == 1) {
    result.push_back({shape, stride * modes[0].stride});
    return result;
  }
  for (std::size_t i = 0; i + 1 < modes.size(); ++i) {
    const FlatMode& mode = modes[i];
    if (mode.shape.known() && stride.known() && !(stride % mode.shape).is(0) &&
        stride.value() >= mode.shape.value())
      refuse("a stride of {} does not step over a mode of size {}: neither divides the other", text(stride),
             text(mode.shape));
    const Integer available =
        ceil_div(mode.shape, abs(stride));  // of this mode, when every stride-th is taken
    const Integer next = ceil_div(abs(stride), mode.shape) * signum(stride);
    if (!available.is(1) && !shape.is(1)) {
      const Integer taken = min(available, shape);
      if (taken.known() && shape.known() && !(shape % taken).is(0))
        refuse("{} elements do not fill a mode that has {}", text(shape), text(taken));
      result.push_back({taken, stride * mode.stride});
      shape = shape / taken;
    }
    stride = next;
  }
  if (result.empty() || !shape.is(1)) result.push_back({shape, stride * modes[modes.size() - 1].stride});
  return result;
}

void add_composed(const FlatModes& modes, TupleView shape, TupleView stride, LayoutBuilder& builder) {
  if (!shape.is_tuple()) return builder.add(composed(modes, shape.integer(), stride.integer()));
  if (shape.rank() == 0) refuse("() has no modes");
  builder.open();
  auto part_stride = stride.begin();
  for (const TupleView part : shape) {
    add_composed(modes, part, *part_stride, builder);
    ++part_stride;
  }
  builder.close();
}

FlatModes for_composition(const Layout& layout) {
  const FlatModes flat = flat_modes(layout);
  if (flat.empty()) refuse("() has no modes");
  return coalesced(flat, true);
}

void add_composition(const Layout& a, const Tiler& b, LayoutBuilder& builder) {
  if (const auto* const layout = std::get_if<Layout>(&b.value())) {
    add_composed(for_composition(a), layout->shape(), layout->stride(), builder);
  } else if (const auto* const size = std::get_if<Integer>(&b.value())) {
    builder.add(composed(for_composition(a), *size, 1));
  } else if (b.modes() == nullptr) {
    builder.add(a);
  } else {
    if (b.modes()->size() > a.rank()) refuse("the tiler has more modes than the layout");
    if (b.modes()->empty()) refuse("() has no modes");
    builder.open();
    for (std::size_t i = 0; i < b.modes()->size(); ++i) add_composition(a.mode(i), (*b.modes())[i], builder);
    builder.close();
  }
}

}  // namespace

Layout composition(const Layout& a, const Layout& b) {
  return named_operation(
      "composition",
      [&] {
        LayoutBuilder builder;
        add_composed(for_composition(a), b.shape(), b.stride(), builder);
        return builder.take();
      },
      a, b);
}

Layout composition(const Layout& a, const Tiler& b) {
  return named_operation(
      "composition",
      [&] {
        LayoutBuilder builder;
        add_composition(a, b, builder);
        return builder.take();
      },
      a, b);
}

}  // namespace gpuforge::layout
