#include <numeric>

#include "gpuforge/layout/flat_modes.h"
#include "gpuforge/layout/operation.h"

namespace gpuforge::layout {
namespace {

// `change` of each mode, in the layout's hierarchy.
template <class Change>
void add_changed(TupleView shape, TupleView stride, const Change& change, LayoutBuilder& builder) {
  if (!shape.is_tuple()) {
    const FlatMode mode = change(FlatMode{shape.integer(), stride.integer()});
    return builder.add(mode.shape, mode.stride);
  }
  if (shape.rank() == 0) refuse("() has no modes");
  builder.open();
  auto part_stride = stride.begin();
  for (const TupleView part : shape) {
    add_changed(part, *part_stride, change, builder);
    ++part_stride;
  }
  builder.close();
}

template <class Change>
Layout changed(const Layout& layout, const Change& change) {
  LayoutBuilder builder;
  add_changed(layout.shape(), layout.stride(), change, builder);
  return builder.take();
}

void expect_positive(std::int64_t count) {
  if (count < 1) refuse("at least 1 is expected, found {}", count);
}

}  // namespace

Layout upcast(const Layout& layout, std::int64_t count) {
  return named_operation(
      "upcast",
      [&] {
        expect_positive(count);
        return changed(layout, [&](FlatMode mode) -> FlatMode {
          if (mode.stride.is(0)) return mode;
          if (!mode.stride.known()) return {mode.shape, mode.stride / count};
          if (mode.stride.value() % count != 0 && count % mode.stride.value() != 0)
            refuse("neither of {} and the stride {} divides the other", count, mode.stride.value());
          return {ceil_div(mode.shape, ceil_div(count, abs(mode.stride))),
                  signum(mode.stride) * ceil_div(abs(mode.stride), count)};
        });
      },
      layout, count);
}

Layout downcast(const Layout& layout, std::int64_t count) {
  return named_operation(
      "downcast",
      [&] {
        expect_positive(count);
        bool adjacent = false;
        for (const FlatMode& mode : flat_modes(layout)) adjacent = adjacent || mode.stride.is(1);
        if (!adjacent) refuse("no mode has stride 1, so no elements lie side by side");
        return changed(layout, [&](FlatMode mode) -> FlatMode {
          if (mode.stride.is(1) || mode.stride.is(-1)) return {mode.shape * count, mode.stride};
          return {mode.shape, mode.stride * count};
        });
      },
      layout, count);
}

Layout recast(const Layout& layout, std::int64_t old_bits, std::int64_t new_bits) {
  return named_operation(
      "recast",
      [&] {
        expect_positive(old_bits);
        expect_positive(new_bits);
        const std::int64_t shared = std::gcd(old_bits, new_bits);
        const std::int64_t up = new_bits / shared, down = old_bits / shared;
        if (up == 1 && down == 1) return layout;
        if (up == 1) return downcast(layout, down);
        return down == 1 ? upcast(layout, up) : downcast(upcast(layout, up), down);
      },
      layout, old_bits, new_bits);
}

}  // namespace gpuforge::layout
