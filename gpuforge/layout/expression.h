// The algebra as a small language: `composition((8,4):(1,8), 4:2)`. Names that are bound to nothing are
// unknown numbers, so that `zipped_divide((M,N):(N,1), (1,32))` can be asked before M and N are known.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "gpuforge/layout/partition.h"

namespace gpuforge::layout {

// What an expression has: numbers, layouts, or several of these.
struct Value {
  using Values = std::vector<Value>;
  std::variant<IntTuple, Layout, SwizzledLayout, OffsetLayout, Swizzle, bool, Values> is;
};

// A layout with an offset is written without it.
std::string to_text(const Value& value);

using Bindings = std::map<std::string, Value, std::less<>>;

// parse Error with a column for what is not written in the language; invalid_argument for what the algebra
// refuses.
Value evaluate(std::string_view text, const Bindings& bindings = {});

// A function of the language. Functions with several forms have several of these.
struct Function {
  std::string_view name;
  std::string_view parameters;  // "A, tiler"
  std::string_view meaning;
  std::size_t least;  // arguments
  std::size_t most;
  Value (*call)(std::span<const Value> arguments);
};
std::span<const Function> functions();

}  // namespace gpuforge::layout
