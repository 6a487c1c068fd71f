#include <algorithm>

#include "gpuforge/layout/flat_modes.h"
#include "gpuforge/layout/operation.h"

namespace gpuforge::layout {
namespace {

// Neighbours that are both known, or both unknown, as their product.
IntTuple coalesced_shape(TupleView shape) {
  const IntTuple flat = flatten(shape);
  if (!flat.is_tuple()) return flat;
  if (flat.rank() == 0) refuse("() has no modes");
  InlineVector<Integer, 16> parts;
  for (const TupleView element : flat.view()) {
    const Integer part = element.integer();
    if (!parts.empty() && parts.back().known() == part.known())
      parts.back() = parts.back() * part;
    else
      parts.push_back(part);
  }
  if (parts.size() == 1) return parts[0];
  TupleBuilder builder;
  builder.open();
  for (const Integer part : parts) builder.add(part);
  builder.close();
  return builder.take();
}

// What is left of the shape's parts after the first `count` of all.
IntTuple divided(TupleView shape, Integer count) {
  if (!shape.is_tuple()) return ceil_div(shape.integer(), count);
  TupleBuilder builder;
  builder.open();
  for (const TupleView part : shape) {
    builder.add(divided(part, count));
    count = ceil_div(count, product(part));
  }
  builder.close();
  return builder.take();
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
InlineVector<Integer, 16> prefix_products(const FlatModes& modes) {
  InlineVector<Integer, 16> products;
  Integer next = 1;
  for (const FlatMode& mode : modes) {
    products.push_back(next);
    next = next * mode.shape;
  }
  return products;
}

FlatModes coalesced_modes(const Layout& layout) {
  const FlatModes flat = flat_modes(layout);
  if (flat.empty()) refuse("() has no modes");
  return coalesced(flat);
}

Layout complement_of(FlatModes left, TupleView cotarget) {
  if (left.size() == 1 && left[0].stride.is(0)) return Layout(coalesced_shape(cotarget));
  for (const FlatMode& mode : left)
    if (left.size() > 1 && !mode.stride.known()) refuse("with a stride of ? only one mode has a complement");
  FlatModes result;
  Integer reached = 1;  // all smaller indices are taken by the layout and the modes so far
  while (!left.empty()) {
    std::size_t smallest = 0;
    for (std::size_t i = 1; i < left.size(); ++i)
      if (left[i].stride.value() < left[smallest].stride.value()) smallest = i;
    const FlatMode mode = left[smallest];
    left.erase(smallest);
    const Integer gap = mode.stride / reached;
    if (gap.is(0)) refuse("it gives the same index for different coordinates");
    result.push_back({gap, reached});
    reached = mode.stride * mode.shape;
  }
  const IntTuple rest = coalesced_shape(divided(cotarget, reached));
  const Layout rest_layout(rest, compact_col_major(rest, reached));
  for (const FlatMode& mode : flat_modes(rest_layout)) result.push_back(mode);
  return layout_of(coalesced(result));
}

}  // namespace

Layout complement(const Layout& layout) {
  return named_operation(
      "complement",
      [&] {
        const Layout filtered = filter(layout);
        return complement_of(flat_modes(filtered), IntTuple(cosize(filtered)));
      },
      layout);
}

Layout complement(const Layout& layout, TupleView cotarget) {
  return named_operation(
      "complement", [&] { return complement_of(flat_modes(filter(layout)), cotarget); }, layout, cotarget);
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
  const FlatModes modes = flat_modes(layout);
  const IntTuple shape = flatten(layout.shape());
  const Layout compact(shape);
  FlatModes result;
  const FlatModes compact_modes = flat_modes(compact);
  for (std::size_t i = 0; i < modes.size(); ++i)
    if (modes[i].stride.is(0)) result.push_back(compact_modes[i]);
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
