#include <algorithm>

#include "gpuforge/layout/flat_modes.h"
#include "gpuforge/layout/operation.h"

namespace gpuforge::layout {
namespace {

Integers integers_of(TupleView tuple) {
  expect_numbers(tuple);
  Integers all;
  for (std::size_t i = 0; i < tuple.node_count(); ++i)
    if (tuple.nodes()[i].kind != TupleNode::Kind::tuple) all.push_back(tuple.nodes()[i].value);
  if (all.empty()) refuse("() has no modes");
  return all;
}

// Compact modes behind stride `next`. Sizes that are all known, or all unknown, are one where they are
// neighbours.
void add_compact(const Integers& sizes, Integer next, FlatModes& modes) {
  const std::size_t first = modes.size();
  for (const Integer size : sizes)
    if (modes.size() > first && modes.back().shape.known() == size.known())
      modes.back().shape = modes.back().shape * size;
    else
      modes.push_back({size, 0});
  for (std::size_t i = first; i < modes.size(); ++i) {
    if (modes[i].shape.is(1)) continue;
    modes[i].stride = next;
    next = next * modes[i].shape;
  }
}

// The modes' numbers, by stride. Equal strides keep the order that this exchange of neighbours leaves them
// in, which is CuTe's.
using ModeOrder = InlineVector<std::size_t, 16>;
ModeOrder by_stride(const FlatModes& modes, bool known_only) {
  ModeOrder order;
  for (std::size_t i = 0; i < modes.size(); ++i)
    if (!known_only || modes[i].stride.known()) order.push_back(i);
  for (std::size_t i = 0; i < order.size(); ++i)
    for (std::size_t j = i + 1; j < order.size(); ++j)
      if (modes[order[j]].stride.value() < modes[order[i]].stride.value()) std::swap(order[i], order[j]);
  return order;
}

// coordinate 1 of each mode, as an index of the domain
Integers prefix_products(const FlatModes& modes) {
  Integers products;
  Integer next = 1;
  for (const FlatMode& mode : modes) {
    products.push_back(next);
    next = next * mode.shape;
  }
  return products;
}

FlatModes coalesced_modes(const Layout& layout) {
  return coalesced(some_flat_modes(layout));
}

}  // namespace

FlatModes complemented(FlatModes modes, const Integers& cotarget) {
  FlatModes result;
  if (modes.size() == 1 && modes[0].stride.is(0)) {
    add_compact(cotarget, 1, result);
    return result;
  }
  for (const FlatMode& mode : modes)
    if (modes.size() > 1 && !mode.stride.known()) refuse("with a stride of ? only one mode has a complement");
  Integer reached = 1;  // all smaller indices are taken by the modes and the result so far
  while (!modes.empty()) {
    std::size_t smallest = 0;
    for (std::size_t i = 1; i < modes.size(); ++i)
      if (modes[i].stride.value() < modes[smallest].stride.value()) smallest = i;
    const FlatMode mode = modes[smallest];
    modes.erase(smallest);
    const Integer gap = mode.stride / reached;
    if (gap.is(0)) refuse("it gives the same index for different coordinates");
    result.push_back({gap, reached});
    reached = mode.stride * mode.shape;
  }
  // What is left of the cotarget after the first `reached` of it.
  Integers rest;
  Integer count = reached;
  for (const Integer size : cotarget) {
    rest.push_back(ceil_div(size, count));
    if (rest.size() < cotarget.size()) count = ceil_div(count, size);
  }
  add_compact(rest, reached, result);
  return coalesced(result);
}

Layout complement(const Layout& layout) {
  return named_operation(
      "complement",
      [&] {
        const FlatModes modes = filtered(some_flat_modes(layout));
        Integers cotarget;
        cotarget.push_back(cosize(LayoutView(layout_of(modes))));
        return layout_of(complemented(modes, cotarget));
      },
      layout);
}

Layout complement(const Layout& layout, TupleView cotarget) {
  return named_operation(
      "complement",
      [&] { return layout_of(complemented(filtered(some_flat_modes(layout)), integers_of(cotarget))); },
      layout, cotarget);
}

Layout right_inverse(const Layout& layout) {
  return named_operation(
      "right_inverse",
      [&] {
        const FlatModes modes = coalesced_modes(layout);
        const auto products = prefix_products(modes);
        FlatModes result;
        result.push_back({1, 0});
        Integer next = 1;
        for (const std::size_t i : by_stride(modes, true)) {
          if (!next.known() || modes[i].stride != next) continue;
          result.push_back({modes[i].shape, products[i]});
          next = modes[i].shape * modes[i].stride;
        }
        return layout_of(coalesced(result));
      },
      layout);
}

Layout left_inverse(const Layout& layout) {
  return named_operation(
      "left_inverse",
      [&] {
        const FlatModes modes = coalesced_modes(layout);
        for (const FlatMode& mode : modes)
          if (!mode.stride.known()) refuse("a stride of ? has no left inverse");
        const auto products = prefix_products(modes);
        const ModeOrder order = by_stride(modes, false);
        FlatModes result;
        Integer reached = 1;
        Integer stride = 0;  // of the next shape: shapes are one behind their strides
        for (const std::size_t i : order) {
          if (modes[i].stride.is(0)) continue;
          if (!(modes[i].stride % reached).is(0))
            refuse("stride {} is no multiple of {}", modes[i].stride.value(), reached.value());
          const Integer gap = modes[i].stride / reached;
          result.push_back({gap, stride});
          reached = reached * gap;
          stride = products[i];
        }
        result.push_back({modes[order[order.size() - 1]].shape, stride});
        return layout_of(coalesced(result));
      },
      layout);
}

Layout nullspace(const Layout& layout) {
  const FlatModes modes = flat_modes(layout), compact = flat_modes(Layout(layout.shape()));
  FlatModes result;
  for (std::size_t i = 0; i < modes.size(); ++i)
    if (modes[i].stride.is(0)) result.push_back(compact[i]);
  return layout_of(result);
}

Layout max_common_layout(const Layout& a, const Layout& b) {
  return named_operation(
      "max_common_layout",
      [&] {
        const Layout inverse = right_inverse(b);
        const Layout first = coalesce(composition(a, inverse)).mode(0);
        if (!first.shape().integer().known() || !first.stride().integer().is(1)) return Layout(1, 0);
        return composition(inverse, first);
      },
      a, b);
}

Integer max_common_vector(const Layout& a, const Layout& b) {
  return named_operation(
      "max_common_vector",
      [&] {
        const Layout first = coalesce(composition(a, right_inverse(b))).mode(0);
        if (!first.shape().integer().known() || !first.stride().integer().is(1)) return Integer(1);
        return first.shape().integer();
      },
      a, b);
}

}  // namespace gpuforge::layout
