#include "gpuforge/layout/divide.h"

namespace gpuforge::layout {
namespace {

// `at` with the tiler's layout, for a layout or a size. False for a tuple or `_`.
template <class At>
bool at_leaf(const Tiler& tiler, const At& at) {
  if (const auto* const by = std::get_if<Layout>(&tiler.value())) {
    at(LayoutView(*by));
    return true;
  }
  if (const auto* const size = std::get_if<Integer>(&tiler.value())) {
    at(SizeLayout(*size).view());
    return true;
  }
  return false;
}

void expect_modes(LayoutView layout, const Tiler::Modes& modes) {
  if (modes.size() > layout.rank()) refuse("the tiler has more modes than the layout");
  if (layout.rank() == 0) refuse("() has no modes");
}

void add_logical(LayoutView layout, const Tiler& tiler, Split split, LayoutBuilder& builder) {
  const auto divide = [&](LayoutView by) {
    builder.open();
    split(layout, by, builder, builder);
    builder.close();
  };
  if (at_leaf(tiler, divide)) return;
  if (tiler.modes() == nullptr) return builder.add(layout);
  expect_modes(layout, *tiler.modes());
  builder.open();
  for (std::size_t i = 0; i < layout.rank(); ++i)
    if (i < tiler.modes()->size())
      add_logical(layout[i], (*tiler.modes())[i], split, builder);
    else
      builder.add(layout[i]);
  builder.close();
}

void add_zipped(LayoutView layout, const Tiler& tiler, Split split, LayoutBuilder& first,
                LayoutBuilder& second) {
  if (at_leaf(tiler, [&](LayoutView by) { split(layout, by, first, second); })) return;
  if (tiler.modes() == nullptr) {  // `_` leaves the mode: it must be a pair already
    if (!layout.shape.is_tuple() || layout.rank() != 2)
      refuse("{} is no pair of tile and rest", to_text(layout.shape));
    first.add(layout[0]);
    return second.add(layout[1]);
  }
  expect_modes(layout, *tiler.modes());
  first.open();
  second.open();
  for (std::size_t i = 0; i < layout.rank(); ++i)
    if (i < tiler.modes()->size())
      add_zipped(layout[i], (*tiler.modes())[i], split, first, second);
    else
      second.add(layout[i]);
  first.close();
  second.close();
}

// The modes of `half`, or `half` itself when it is one.
void add_unpacked(LayoutView half, LayoutBuilder& builder) {
  if (half.rank() == 1) return builder.add(half);
  for (std::size_t i = 0; i < half.rank(); ++i) builder.add(half[i]);
}

Integers shapes_of(const FlatModes& modes) {
  Integers shapes;
  for (const FlatMode& mode : modes) shapes.push_back(mode.shape);
  return shapes;
}

// The layout at the tiler's coordinates, and at those the tiler leaves out.
void split_tile(LayoutView layout, LayoutView tiler, LayoutBuilder& tile, LayoutBuilder& rest) {
  const FlatModes flat = some_flat_modes(layout), modes = modes_to_compose(flat);
  // The two ways to coalesce differ in a last mode of size 1 alone.
  const bool same = !flat[flat.size() - 1].shape.is(1);
  const FlatModes left_out =
      complemented(filtered(some_flat_modes(tiler)), shapes_of(same ? modes : coalesced(flat)));
  add_composed(modes, tiler, tile);
  const bool several = left_out.size() != 1;
  if (several) rest.open();
  for (const FlatMode& mode : left_out) {
    const TupleNode shape{mode.shape}, stride{mode.stride};
    add_composed(modes, {TupleView(&shape), TupleView(&stride)}, rest);
  }
  if (several) rest.close();
}

}  // namespace

Layout arranged(LayoutView first, LayoutView second, Arrangement arrangement) {
  LayoutBuilder builder;
  builder.open();
  if (arrangement == Arrangement::flat)
    add_unpacked(first, builder);
  else
    builder.add(first);
  if (arrangement == Arrangement::tiled || arrangement == Arrangement::flat)
    add_unpacked(second, builder);
  else
    builder.add(second);
  builder.close();
  return builder.take();
}

Layout split_by_mode(std::string_view name, const Layout& layout, const Tiler& tiler, Split split,
                     Arrangement arrangement) {
  return named_operation(
      name,
      [&] {
        LayoutBuilder first, second;
        if (arrangement == Arrangement::logical) {
          add_logical(layout, tiler, split, first);
          return first.take();
        }
        add_zipped(layout, tiler, split, first, second);
        return arranged(first.view(), second.view(), arrangement);
      },
      layout, tiler);
}

Layout logical_divide(const Layout& layout, const Tiler& tiler) {
  return split_by_mode("logical_divide", layout, tiler, split_tile, Arrangement::logical);
}

Layout zipped_divide(const Layout& layout, const Tiler& tiler) {
  return split_by_mode("zipped_divide", layout, tiler, split_tile, Arrangement::zipped);
}

Layout tiled_divide(const Layout& layout, const Tiler& tiler) {
  return split_by_mode("tiled_divide", layout, tiler, split_tile, Arrangement::tiled);
}

Layout flat_divide(const Layout& layout, const Tiler& tiler) {
  return split_by_mode("flat_divide", layout, tiler, split_tile, Arrangement::flat);
}

}  // namespace gpuforge::layout
