#include "gpuforge/layout/divide.h"

#include "gpuforge/layout/operation.h"

namespace gpuforge::layout {
namespace {

struct Halves {
  IntTuple first;
  IntTuple second;
};

// Modes that the tiler made pairs of, with all first halves together, then all second ones and the untouched
// modes.
Halves unzipped(TupleView tuple, const Tiler& tiler) {
  if (tiler.modes() == nullptr) {
    if (!tuple.is_tuple() || tuple.rank() != 2) refuse("{} is no pair of tile and rest", to_text(tuple));
    return {tuple[0], tuple[1]};
  }
  if (!tuple.is_tuple() || tuple.rank() < tiler.modes()->size())
    refuse("the tiler has more modes than the layout");
  TupleBuilder first, second;
  first.open();
  second.open();
  auto part = tuple.begin();
  for (const Tiler& mode : *tiler.modes()) {
    const Halves halves = unzipped(*part, mode);
    first.add(halves.first);
    second.add(halves.second);
    ++part;
  }
  for (; part != tuple.end(); ++part) second.add(*part);
  first.close();
  second.close();
  return {first.take(), second.take()};
}

// The modes of mode `index`, or that mode itself when it is one.
void add_unpacked(const Layout& layout, std::size_t index, LayoutBuilder& builder) {
  const Layout mode = layout.mode(index);
  if (mode.rank() == 1) return builder.add(mode);
  for (std::size_t i = 0; i < mode.rank(); ++i) builder.add(mode.mode(i));
}

}  // namespace

Layout zipped(const Layout& layout, const Tiler& tiler) {
  const Halves shape = unzipped(layout.shape(), tiler), stride = unzipped(layout.stride(), tiler);
  return {tuple({shape.first, shape.second}), tuple({stride.first, stride.second})};
}

Layout unpacked(const Layout& layout, bool both) {
  LayoutBuilder builder;
  builder.open();
  if (both)
    add_unpacked(layout, 0, builder);
  else
    builder.add(layout.mode(0));
  add_unpacked(layout, 1, builder);
  builder.close();
  return builder.take();
}

namespace {

Layout divided_by(const Layout& layout, const Layout& tiler) {
  return composition(layout, make_layout({tiler, complement(tiler, coalesce(layout).shape())}));
}

}  // namespace

Layout logical_divide(const Layout& layout, const Tiler& tiler) {
  return named_operation(
      "logical_divide", [&] { return by_mode(layout, tiler, divided_by); }, layout, tiler);
}

Layout zipped_divide(const Layout& layout, const Tiler& tiler) {
  return named_operation(
      "zipped_divide", [&] { return zipped(by_mode(layout, tiler, divided_by), tiler); }, layout, tiler);
}

Layout tiled_divide(const Layout& layout, const Tiler& tiler) {
  return named_operation(
      "tiled_divide", [&] { return unpacked(zipped(by_mode(layout, tiler, divided_by), tiler), false); },
      layout, tiler);
}

Layout flat_divide(const Layout& layout, const Tiler& tiler) {
  return named_operation(
      "flat_divide", [&] { return unpacked(zipped(by_mode(layout, tiler, divided_by), tiler), true); },
      layout, tiler);
}

}  // namespace gpuforge::layout
