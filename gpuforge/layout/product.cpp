#include <algorithm>

#include "gpuforge/layout/divide.h"

namespace gpuforge::layout {
namespace {

// The block, and as many of it as the tiler has elements, in the tiler's order.
void split_repetitions(LayoutView block, LayoutView tiler, LayoutBuilder& first, LayoutBuilder& second) {
  const FlatModes flat = some_flat_modes(block);
  Integers room;
  room.push_back(product(block.shape) * cosize(tiler));
  const FlatModes free = complemented(filtered(flat), room);
  first.add(block);
  add_composed(modes_to_compose(free), tiler, second);
}

// Block and tiler of the same rank, mode beside mode.
Layout repeated(const Layout& block, const Layout& tiler, bool block_first) {
  const std::size_t rank = std::max(block.rank(), tiler.rank());
  LayoutBuilder blocks, repetitions;
  split_repetitions(append(block, rank, {}), append(tiler, rank, {}), blocks, repetitions);
  const Layout first = blocks.take(), second = repetitions.take();
  return block_first ? zip(first, second) : zip(second, first);
}

bool all_known(TupleView flat) {
  return std::all_of(flat.nodes(), flat.nodes() + flat.node_count(),
                     [](const TupleNode& node) { return node.value.known(); });
}

Layout tiled_to_shape(const Layout& block, TupleView shape, const IntTuple* order) {
  if (block.rank() > shape.rank()) refuse("the block has more modes than the shape");
  const Layout padded = append(block, shape.rank(), {});
  const IntTuple have = product_each(padded.shape()), want = product_each(shape);
  const bool checked = all_known(want);  // a shape with unknown sizes is covered, and more
  TupleBuilder counts;
  counts.open();
  for (std::size_t i = 0; i < want.rank(); ++i) {
    const Integer block_size = have[i].integer(), whole = want[i].integer();
    if (checked && !block_size.known()) refuse("mode {} of the block has no known size", i);
    if (checked && !(whole % block_size).is(0))
      refuse("mode {} of the block has size {}, which does not divide {}", i, block_size.value(),
             whole.value());
    counts.add(ceil_div(whole, block_size));
  }
  counts.close();
  const IntTuple counted = counts.take();
  return repeated(padded, order == nullptr ? Layout(counted) : make_ordered_layout(counted, *order), true);
}

}  // namespace

Layout logical_product(const Layout& block, const Tiler& tiler) {
  return split_by_mode("logical_product", block, tiler, split_repetitions, Arrangement::logical);
}

Layout zipped_product(const Layout& block, const Tiler& tiler) {
  return split_by_mode("zipped_product", block, tiler, split_repetitions, Arrangement::zipped);
}

Layout tiled_product(const Layout& block, const Tiler& tiler) {
  return split_by_mode("tiled_product", block, tiler, split_repetitions, Arrangement::tiled);
}

Layout flat_product(const Layout& block, const Tiler& tiler) {
  return split_by_mode("flat_product", block, tiler, split_repetitions, Arrangement::flat);
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
