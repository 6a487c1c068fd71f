#include <algorithm>

#include "gpuforge/layout/divide.h"
#include "gpuforge/layout/operation.h"

namespace gpuforge::layout {
namespace {

Layout repeated_by(const Layout& block, const Layout& tiler) {
  const IntTuple room = size(block) * cosize(tiler);
  return make_layout({block, composition(complement(block, room), tiler)});
}

// Block and tiler of the same rank, mode beside mode.
Layout repeated(const Layout& block, const Layout& tiler, bool block_first) {
  const std::size_t rank = std::max(block.rank(), tiler.rank());
  const Layout both = repeated_by(append(block, rank, {}), append(tiler, rank, {}));
  return block_first ? zip(both.mode(0), both.mode(1)) : zip(both.mode(1), both.mode(0));
}

IntTuple sizes_of_modes(TupleView shape) {
  TupleBuilder builder;
  builder.open();
  for (const TupleView mode : shape) builder.add(product(mode));
  builder.close();
  return builder.take();
}

Layout tiled_to_shape(const Layout& block, TupleView shape, const IntTuple* order) {
  if (block.rank() > shape.rank()) refuse("the block has more modes than the shape");
  const Layout padded = append(block, shape.rank(), {});
  const IntTuple have = sizes_of_modes(padded.shape()), want = sizes_of_modes(shape);
  TupleBuilder counts;
  counts.open();
  for (std::size_t i = 0; i < want.rank(); ++i) {
    const Integer count = ceil_div(want[i].integer(), have[i].integer());
    const Integer covered = count * have[i].integer();
    if (covered.known() && want[i].integer().known() && covered != want[i].integer())
      refuse("mode {} of the block has size {}, which does not divide {}", i, have[i].integer().value(),
             want[i].integer().value());
    counts.add(count);
  }
  counts.close();
  const IntTuple counted = counts.take();
  return repeated(padded, order == nullptr ? Layout(counted) : make_ordered_layout(counted, *order), true);
}

}  // namespace

Layout logical_product(const Layout& block, const Tiler& tiler) {
  return named_operation(
      "logical_product", [&] { return by_mode(block, tiler, repeated_by); }, block, tiler);
}

Layout zipped_product(const Layout& block, const Tiler& tiler) {
  return named_operation(
      "zipped_product", [&] { return zipped(by_mode(block, tiler, repeated_by), tiler); }, block, tiler);
}

Layout tiled_product(const Layout& block, const Tiler& tiler) {
  return named_operation(
      "tiled_product", [&] { return unpacked(zipped(by_mode(block, tiler, repeated_by), tiler), false); },
      block, tiler);
}

Layout flat_product(const Layout& block, const Tiler& tiler) {
  return named_operation(
      "flat_product", [&] { return unpacked(zipped(by_mode(block, tiler, repeated_by), tiler), true); },
      block, tiler);
}

Layout blocked_product(const Layout& block, const Layout& tiler) {
  return named_operation(
      "blocked_product", [&] { return repeated(block, tiler, true); }, block, tiler);
}

Layout raked_product(const Layout& block, const Layout& tiler) {
  return named_operation(
      "raked_product", [&] { return repeated(block, tiler, false); }, block, tiler);
}

Layout tile_to_shape(const Layout& block, TupleView shape) {
  return named_operation(
      "tile_to_shape", [&] { return tiled_to_shape(block, shape, nullptr); }, block, shape);
}

Layout tile_to_shape(const Layout& block, TupleView shape, TupleView order) {
  const IntTuple by = order;
  return named_operation(
      "tile_to_shape", [&] { return tiled_to_shape(block, shape, &by); }, block, shape, order);
}

}  // namespace gpuforge::layout
