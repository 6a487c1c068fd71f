#include <algorithm>

#include "gpuforge/layout/flat_modes.h"
#include "gpuforge/layout/operation.h"

namespace gpuforge::layout {
namespace {

void add_col_major(TupleView shape, Integer& next, TupleBuilder& builder) {
  if (!shape.is_tuple()) {
    const bool one = shape.integer().is(1);
    builder.add(one ? Integer(0) : next);
    if (!one) next = next * shape.integer();
    return;
  }
  builder.open();
  for (const TupleView element : shape) add_col_major(element, next, builder);
  builder.close();
}

// Strides per node, written from the last to the first.
void fill_row_major(TupleView shape, Integer& next, TupleNode* nodes) {
  if (!shape.is_tuple()) {
    const bool one = shape.integer().is(1);
    nodes->value = one ? Integer(0) : next;
    if (!one) next = next * shape.integer();
    return;
  }
  InlineVector<std::uint32_t, 16> starts;
  std::uint32_t at = 1;
  for (const TupleView element : shape) {
    starts.push_back(at);
    at += static_cast<std::uint32_t>(element.node_count());
  }
  for (std::size_t i = starts.size(); i-- > 0;)
    fill_row_major(TupleView(shape.nodes() + starts[i]), next, nodes + starts[i]);
}

// The size of the shape's part at each integer of the order, beside that integer.
struct Ordered {
  Integer size;
  Integer order;
};
void collect(TupleView shape, TupleView order, InlineVector<Ordered, 16>& all) {
  if (!order.is_tuple()) return all.push_back({product(shape), order.integer()});
  if (!shape.is_tuple() || shape.rank() != order.rank())
    refuse("the order {} does not fit the shape {}", to_text(order), to_text(shape));
  auto part = shape.begin();
  for (const TupleView element : order) {
    collect(*part, element, all);
    ++part;
  }
}

void add_ordered(TupleView shape, TupleView order, const InlineVector<Ordered, 16>& all, std::size_t& at,
                 TupleBuilder& builder) {
  if (!order.is_tuple()) {
    Integer first = 1;
    for (const Ordered& one : all)
      if (one.order.value() < all[at].order.value()) first = first * one.size;
    ++at;
    return add_col_major(shape, first, builder);
  }
  builder.open();
  auto part = shape.begin();
  for (const TupleView element : order) {
    add_ordered(*part, element, all, at, builder);
    ++part;
  }
  builder.close();
}

void check_sizes(TupleView shape) {
  for (std::size_t i = 0; i < shape.node_count(); ++i) {
    const TupleNode& node = shape.nodes()[i];
    if (node.kind == TupleNode::Kind::underscore)
      refuse("layout: a shape has numbers or ?, found {}", to_text(shape));
    if (node.kind == TupleNode::Kind::integer && node.value.known() && node.value.value() < 0)
      refuse("layout: a size is 0 or more, found the shape {}", to_text(shape));
  }
}

}  // namespace

Layout::Layout(IntTuple shape, IntTuple stride) : shape_(std::move(shape)), stride_(std::move(stride)) {
  if (!congruent(shape_, stride_) || has_underscore(stride_))
    refuse("layout: the shape {} and the stride {} are not congruent", to_text(shape_), to_text(stride_));
  check_sizes(shape_);
}

Layout::Layout(Congruent, IntTuple&& shape, IntTuple&& stride)
    : shape_(std::move(shape)), stride_(std::move(stride)) {
  check_sizes(shape_);
}

Layout::Layout(const IntTuple& shape) : shape_(shape) {
  check_sizes(shape);
  stride_ = compact_col_major(shape);
}

Layout Layout::mode(std::size_t index) const {
  return {shape_[index], stride_[index]};
}

IntTuple compact_col_major(TupleView shape, Integer first) {
  expect_numbers(shape);
  TupleBuilder builder;
  add_col_major(shape, first, builder);
  return builder.take();
}

IntTuple compact_row_major(TupleView shape, Integer first) {
  expect_numbers(shape);
  InlineVector<TupleNode, 16> nodes;
  nodes.append(shape.nodes(), shape.node_count());
  fill_row_major(shape, first, nodes.begin());
  return TupleView(nodes.begin());
}

IntTuple compact_order(TupleView shape, TupleView order) {
  expect_numbers(order);
  InlineVector<Ordered, 16> all;
  collect(shape, order, all);
  std::int64_t largest = 0;
  for (const Ordered& one : all)
    if (one.order.known()) largest = std::max(largest, one.order.value());
  for (std::size_t i = 0; i < all.size(); ++i)
    if (!all[i].order.known()) all[i].order = Integer(largest) + 1 + static_cast<std::int64_t>(i);
  TupleBuilder builder;
  std::size_t at = 0;
  add_ordered(shape, order, all, at, builder);
  return builder.take();
}

Layout make_ordered_layout(const IntTuple& shape, TupleView order) {
  return named_operation(
      "make_ordered_layout", [&] { return Layout(shape, compact_order(shape, order)); }, shape.view(), order);
}

Layout make_layout_like(const Layout& layout) {
  return named_operation(
      "make_layout_like",
      [&] { return Layout(layout.shape(), compact_order(filter_zeros(layout).shape(), layout.stride())); },
      layout);
}

namespace {

template <class Modes>
Layout concatenated(const Modes& modes) {
  LayoutBuilder builder;
  builder.open();
  for (const Layout& mode : modes) builder.add(mode);
  builder.close();
  return builder.take();
}

}  // namespace

Layout make_layout(std::initializer_list<Layout> modes) {
  return concatenated(modes);
}

Layout make_layout(const std::vector<Layout>& modes) {
  return concatenated(modes);
}

}  // namespace gpuforge::layout
