#include "gpuforge/layout/int_tuple.h"

#include <algorithm>

#include "gpuforge/base/error.h"

namespace gpuforge::layout {

TupleView TupleView::operator[](std::size_t index) const {
  GPUFORGE_CHECK(index < rank(), "layout: {} has no mode {}", to_text(*this), index);
  Iterator at = begin();
  for (; index > 0; --index) ++at;
  return *at;
}

bool operator==(TupleView a, TupleView b) {
  return a.node_count() == b.node_count() && std::equal(a.nodes(), a.nodes() + a.node_count(), b.nodes());
}

IntTuple IntTuple::underscore() {
  IntTuple result{Empty{}};
  result.nodes_.push_back({0, 1, TupleNode::Kind::underscore});
  return result;
}

IntTuple tuple(std::initializer_list<IntTuple> elements) {
  TupleBuilder builder;
  builder.open();
  for (const IntTuple& element : elements) builder.add(element);
  builder.close();
  return builder.take();
}

IntTuple TupleBuilder::take() {
  GPUFORGE_ASSERT(open_.empty() && !built_.nodes_.empty(), "layout: a tuple was taken before it was whole");
  return std::move(built_);
}

Integer product(TupleView tuple) {
  if (!tuple.is_tuple()) {
    GPUFORGE_CHECK(tuple.is_integer(), "layout: _ has no size");
    return tuple.integer();
  }
  Integer result = 1;
  for (const TupleView element : tuple) result = result * product(element);
  return result;
}

IntTuple product_each(TupleView tuple) {
  TupleBuilder builder;
  builder.open();
  for (const TupleView element : tuple) builder.add(product(element));
  builder.close();
  return builder.take();
}

std::size_t depth(TupleView tuple) {
  if (!tuple.is_tuple()) return 0;
  std::size_t deepest = 0;
  for (const TupleView element : tuple) deepest = std::max(deepest, depth(element));
  return deepest + 1;
}

bool has_underscore(TupleView tuple) {
  return std::any_of(tuple.nodes(), tuple.nodes() + tuple.node_count(),
                     [](const TupleNode& node) { return node.kind == TupleNode::Kind::underscore; });
}

bool all_underscores(TupleView tuple) {
  return std::all_of(tuple.nodes(), tuple.nodes() + tuple.node_count(),
                     [](const TupleNode& node) { return node.kind != TupleNode::Kind::integer; });
}

namespace {

// Whether `leaf(a, b)` holds at each integer of a, and b has a's tuples.
template <class Leaf>
bool refines(TupleView a, TupleView b, const Leaf& leaf) {
  if (!a.is_tuple()) return leaf(a, b);
  if (!b.is_tuple() || a.rank() != b.rank()) return false;
  auto other = b.begin();
  for (const TupleView element : a) {
    if (!refines(element, *other, leaf)) return false;
    ++other;
  }
  return true;
}

void add_flat(TupleView tuple, TupleBuilder& builder) {
  if (!tuple.is_tuple()) return builder.add(tuple);
  for (const TupleView element : tuple) add_flat(element, builder);
}

}  // namespace

bool congruent(TupleView a, TupleView b) {
  return refines(a, b, [](TupleView, TupleView element) { return !element.is_tuple(); });
}

bool weakly_congruent(TupleView a, TupleView b) {
  return refines(a, b, [](TupleView, TupleView) { return true; });
}

bool compatible(TupleView a, TupleView b) {
  bool depends = false;
  const bool possible = refines(a, b, [&](TupleView size, TupleView element) {
    const Integer wanted = size.integer(), found = product(element);
    const bool known = wanted.known() && found.known();
    depends = depends || !known;
    return !known || wanted == found;
  });
  GPUFORGE_CHECK(!possible || !depends, "layout: compatible({}, {}): it depends on what is unknown",
                 to_text(a), to_text(b));
  return possible;
}

IntTuple flatten(TupleView tuple) {
  if (!tuple.is_tuple()) return tuple;
  TupleBuilder builder;
  builder.open();
  add_flat(tuple, builder);
  builder.close();
  return builder.take();
}

IntTuple unflatten(TupleView flat, TupleView profile) {
  TupleBuilder builder;
  auto at = flat.begin();
  const auto fill = [&](const auto& self, TupleView part) -> void {
    if (!part.is_tuple()) {
      GPUFORGE_CHECK(at != flat.end(), "layout: {} has fewer elements than the profile {}", to_text(flat),
                     to_text(profile));
      builder.add(*at);
      ++at;
      return;
    }
    builder.open();
    for (const TupleView element : part) self(self, element);
    builder.close();
  };
  fill(fill, profile);
  GPUFORGE_CHECK(at == flat.end(), "layout: {} has more elements than the profile {}", to_text(flat),
                 to_text(profile));
  return builder.take();
}

}  // namespace gpuforge::layout
