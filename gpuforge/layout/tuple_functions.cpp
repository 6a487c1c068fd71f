#include "gpuforge/layout/tuple_functions.h"

#include <algorithm>

#include "gpuforge/layout/operation.h"

namespace gpuforge::layout {
namespace {

void add_leaves(const Value& value, Value::Values& leaves) {
  if (!is_tuple(value)) return leaves.push_back(value);
  for (const Value& one : elements(value)) add_leaves(one, leaves);
}

Value unflattened(TupleView profile, Value::Values::const_iterator& next, Value::Values::const_iterator end) {
  if (!profile.is_tuple()) {
    if (next == end) refuse("there are fewer elements than in the profile");
    return *next++;
  }
  Value::Values parts;
  for (const TupleView part : profile) parts.push_back(unflattened(part, next, end));
  return joined(std::move(parts));
}

}  // namespace

bool is_tuple(const Value& value) {
  const auto* const tuple = std::get_if<IntTuple>(&value.is);
  return tuple != nullptr ? tuple->is_tuple() : std::holds_alternative<Value::Values>(value.is);
}

Value::Values elements(const Value& value) {
  if (const auto* const values = std::get_if<Value::Values>(&value.is)) return *values;
  const auto* const tuple = std::get_if<IntTuple>(&value.is);
  if (tuple == nullptr || !tuple->is_tuple()) return {value};
  Value::Values all;
  for (const TupleView element : tuple->view()) all.push_back({IntTuple(element)});
  return all;
}

Value take(const Value& value, std::size_t begin, std::size_t end) {
  const Value::Values all = elements(value);
  if (begin == end) return joined({});
  if (begin > end || end > all.size())
    refuse("layout: take({}, {}, {}): it has {} elements", to_text(value), begin, end, all.size());
  const auto first = all.begin();
  return joined({first + static_cast<std::ptrdiff_t>(begin), first + static_cast<std::ptrdiff_t>(end)});
}

Value select(const Value& value, std::span<const std::size_t> which) {
  const Value::Values all = elements(value);
  Value::Values chosen;
  for (const std::size_t index : which) {
    if (index >= all.size())
      refuse("layout: select({}, {}): it has {} elements", to_text(value), index, all.size());
    chosen.push_back(all[index]);
  }
  return joined(std::move(chosen));
}

Value extended(const Value& value, Side side, const Value& element) {
  Value::Values all = elements(value);
  all.insert(side == Side::front ? all.begin() : all.end(), element);
  return joined(std::move(all));
}

Value extended(const Value& value, Side side, std::size_t rank, const Value& element) {
  Value::Values all = elements(value);
  if (all.size() > rank)
    refuse("layout: {}({}, {}, {}): it has rank {} already", side == Side::front ? "prepend" : "append",
           to_text(value), rank, to_text(element), all.size());
  if (all.size() == rank) return value;
  all.insert(side == Side::front ? all.begin() : all.end(), rank - all.size(), element);
  return joined(std::move(all));
}

Value replace(const Value& value, std::size_t index, const Value& element) {
  if (!is_tuple(value) && index == 0) return element;
  Value::Values all = elements(value);
  if (!is_tuple(value) || index > all.size())
    refuse("layout: replace({}, {}, {}): there is no element {}", to_text(value), index, to_text(element),
           index);
  if (index == all.size()) all.push_back(element);
  all[index] = element;
  return joined(std::move(all));
}

Value group(const Value& value, std::size_t begin, std::size_t end) {
  Value::Values all = elements(value);
  // What is no tuple has nothing between its elements, wherever that is.
  if (begin == end && (is_tuple(value) ? begin <= all.size() : begin <= 1)) return joined(std::move(all));
  if (begin > end || end > all.size())
    refuse("layout: group({}, {}, {}): it has {} elements", to_text(value), begin, end, all.size());
  const auto first = all.begin() + static_cast<std::ptrdiff_t>(begin);
  const auto last = all.begin() + static_cast<std::ptrdiff_t>(end);
  *first = joined({first, last});
  all.erase(first + 1, last);
  return joined(std::move(all));
}

Value zip(const Value& value) {
  if (!is_tuple(value)) return value;
  const Value::Values all = elements(value);
  if (all.empty()) refuse("layout: zip(()): () has nothing to zip");
  if (!is_tuple(all.front())) return joined({value});
  std::vector<Value::Values> rows;
  for (const Value& one : all) {
    rows.push_back(elements(one));
    if (!is_tuple(one) || rows.back().size() != rows.front().size())
      refuse("layout: zip({}): the elements differ in rank", to_text(value));
  }
  Value::Values columns;
  for (std::size_t i = 0; i < rows.front().size(); ++i) {
    Value::Values column;
    for (const Value::Values& row : rows) column.push_back(row[i]);
    columns.push_back(joined(std::move(column)));
  }
  return joined(std::move(columns));
}

Value zip(const Value& a, const Value& b) {
  return zip(joined({a, b}));
}

Value flatten(const Value& value) {
  if (!is_tuple(value)) return value;
  Value::Values leaves;
  add_leaves(value, leaves);
  return joined(std::move(leaves));
}

Value unflatten(const Value& value, TupleView profile) {
  const Value::Values all = elements(value);
  return named_operation(
      "unflatten",
      [&] {
        auto next = all.begin();
        Value result = unflattened(profile, next, all.end());
        if (next != all.end()) refuse("there are more elements than in the profile");
        return result;
      },
      value, profile);
}

Value shape(const Value& value) {
  if (std::holds_alternative<Value::Values>(value.is)) {
    Value::Values shapes;
    for (const Value& one : elements(value)) shapes.push_back(shape(one));
    return joined(std::move(shapes));
  }
  const std::optional<Mapping> mapping = mapping_in(value);
  if (!mapping) return value;
  if (const Layout* const plain = domain(*mapping)) return {plain->shape()};
  // A swizzle, which takes any index, stands for its own shape.
  const Mapping* first = &*mapping;
  while (const auto* const composed = std::get_if<ComposedLayout>(first)) first = &composed->inner();
  return value_of(*first);
}

std::size_t rank(const Value& value) {
  const Value of = shape(value);
  return is_tuple(of) ? elements(of).size() : 1;
}

std::size_t depth(const Value& value) {
  const Value of = shape(value);
  if (!is_tuple(of)) return 0;
  const Value::Values all = elements(of);
  if (all.empty()) refuse("layout: depth({}): () has no depth", to_text(value));
  std::size_t deepest = 0;
  for (const Value& one : all) deepest = std::max(deepest, depth(one));
  return deepest + 1;
}

}  // namespace gpuforge::layout
