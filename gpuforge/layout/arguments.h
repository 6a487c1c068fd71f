// Arguments of the language's functions as what they are meant to be. Not installed.
#pragma once

#include <optional>

#include "gpuforge/layout/expression.h"

namespace gpuforge::layout {

// "the layout 4:1": a value's kind before its text, for messages.
std::string with_kind(const Value& value);
bool is_layout(const Value& value);    // swizzled and composed ones too
bool is_swizzled(const Value& value);  // a layout, but not shape:stride alone
Value value_of(AnyLayout layout);
Value value_of(Mapping mapping);
// Where a part has its beginning within, it is a layout like any other.
Value value_of(OffsetLayout part);
Value value_of(Integer number);
Value value_of(std::size_t number);
std::optional<Mapping> mapping_in(const Value& value);  // none: it is neither a layout nor a swizzle
// The value, or an Error where it is far beyond what layouts are: statements that bind a name to twice itself
// would fill all memory in thirty lines, and deep ones the stack.
Value bounded(Value value);
// A tuple of values: numbers alone are one IntTuple.
Value joined(Value::Values values);

// What a function was called with. What is not of the kind asked for is an Error that says which argument,
// what was expected and what was found.
class Arguments {
 public:
  Arguments(const Function& function, std::span<const Value> values) : function_(function), values_(values) {}

  const Function& function() const { return function_; }
  std::size_t size() const { return values_.size(); }
  const Value& operator[](std::size_t index) const { return values_[index]; }
  template <class Kind>
  const Kind* get_if(std::size_t index) const {
    return std::get_if<Kind>(&values_[index].is);
  }
  bool is_layout(std::size_t index) const { return layout::is_layout(values_[index]); }

  const IntTuple& tuple(std::size_t index) const;
  Integer integer(std::size_t index) const;  // `?` too
  std::int64_t number(std::size_t index) const;
  std::size_t count(std::size_t index) const;  // of modes: 0 or more
  // The end of a range of modes: -1 is the rank.
  std::size_t end(std::size_t index, std::size_t rank) const;
  Layout layout(std::size_t index) const;  // a shape is a compact layout
  const Layout& plain_layout(std::size_t index) const;
  Mapping mapping(std::size_t index) const;  // a layout, a swizzle, several of them; or a shape
  Tiler tiler(std::size_t index) const;
  // The same, where a part for a mode of `layout` may be swizzled if `change` of that mode by it is not.
  using Change = Mapping (*)(const Mapping&, const Mapping&);
  Tiler tiler(std::size_t index, const Layout& layout, Change change) const;
  IntTuple shape(std::size_t index) const;  // of a layout, or numbers as they are
  // The mode of the first argument, and the mode of that, .., which the arguments from `first` on choose.
  Value mode_from(std::size_t first) const;

  // Operations that a swizzle does not take part in: done on the layout behind it.
  template <class Change>
  Value behind_swizzle(std::size_t index, const Change& change) const {
    if (is_swizzled(values_[index])) return value_of(with_domain(mapping(index), change));
    return {change(layout(index))};
  }

  [[noreturn]] void unexpected(std::size_t index, std::string_view expected) const;

 private:
  const Function& function_;
  std::span<const Value> values_;
};

}  // namespace gpuforge::layout
