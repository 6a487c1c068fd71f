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
  for (std::size_t i = 0; i + 1 < modes.size(); ++i) {
    const FlatMode& mode = modes[i];
    if (mode.shape.known() && stride.known() && !(stride % mode.shape).is(0) &&
        stride.value() >= mode.shape.value())
      refuse("a stride of {} does not step over a mode of size {}: neither divides the other", text(stride),
             text(mode.shape));
    // What the mode has left when every stride-th is taken.
    const Integer available = ceil_div(mode.shape, abs(stride));
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

void add_composition(LayoutView a, const Tiler& b, LayoutBuilder& builder) {
  if (const auto* const layout = std::get_if<Layout>(&b.value())) {
    add_composed(modes_to_compose(some_flat_modes(a)), *layout, builder);
  } else if (const auto* const size = std::get_if<Integer>(&b.value())) {
    builder.add(composed(modes_to_compose(some_flat_modes(a)), *size, 1));
  } else if (b.modes() == nullptr) {
    builder.add(a);
  } else {
    if (b.modes()->size() > a.rank()) refuse("the tiler has more modes than the layout");
    if (b.modes()->empty()) refuse("() has no modes");
    builder.open();
    for (std::size_t i = 0; i < b.modes()->size(); ++i) add_composition(a[i], (*b.modes())[i], builder);
    builder.close();
  }
}

}  // namespace

FlatModes modes_to_compose(const FlatModes& flat) {
  return coalesced(flat, true);
}

void add_composed(const FlatModes& modes, LayoutView b, LayoutBuilder& builder) {
  if (!b.shape.is_tuple()) return builder.add(composed(modes, b.shape.integer(), b.stride.integer()));
  if (b.rank() == 0) refuse("() has no modes");
  builder.open();
  auto stride = b.stride.begin();
  for (const TupleView shape : b.shape) {
    add_composed(modes, {shape, *stride}, builder);
    ++stride;
  }
  builder.close();
}

Layout composition(const Layout& a, const Layout& b) {
  return named_operation(
      "composition",
      [&] {
        LayoutBuilder builder;
        add_composed(modes_to_compose(some_flat_modes(a)), b, builder);
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
