// The algebra as a small language: `composition((8,4):(1,8), 4:2)`. Names that are bound to nothing are
// unknown numbers, so that `zipped_divide((M,N):(N,1), (1,32))` can be asked before M and N are known.
// What CuTe prints and much of what its C++ writes is understood: `_4`, `Int<4>{}`, `Shape<_8,_4>{}`,
// `get<0>(A)` (which is get(A, 0)), `Sw<3,4,3> o _0 o (_8,_64):(_64,_1)`, `16:1 o -1 o Sw<1,1,3>`, `(4,)`.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "gpuforge/layout/composed.h"
#include "gpuforge/layout/partition.h"

namespace gpuforge::layout {

// What an expression has: numbers, layouts, or several of these.
struct Value {
  using Values = std::vector<Value>;
  std::variant<IntTuple, Layout, SwizzledLayout, ComposedLayout, OffsetLayout, Swizzle, bool, VectorWidth,
               Values>
      is;
};

// A layout with an offset is written without it, a vector width as its number of elements.
std::string to_text(const Value& value);

using Bindings = std::map<std::string, Value, std::less<>>;

// parse Error with a column for what is not written in the language; invalid_argument for what the algebra
// refuses. `A(3)` and `A(_,2)` apply a layout: an index, or a slice with its offset.
Value evaluate(std::string_view text, const Bindings& bindings = {});

// The names in a good expression that stand for unknown numbers, each once.
std::vector<std::string> unbound_names(std::string_view text, const Bindings& bindings);

// `NAME = expression` binds the name for what follows; without `=` nothing is bound and the name is empty.
struct Statement {
  std::string name;
  Value value;
};
Statement execute(std::string_view text, Bindings& bindings);

// A function of the language. `<..>` after a function's name are arguments after the first.
class Arguments;
struct Function {
  std::string_view name;
  std::string_view parameters;  // "A, tiler"
  std::string_view meaning;
  std::size_t least;  // arguments
  std::size_t most;
  Value (*call)(const Arguments& arguments);
};
struct FunctionGroup {
  std::string_view title;
  std::span<const Function> functions;
};
std::array<FunctionGroup, 4> functions();
const Function* find_function(std::string_view name);  // nullptr: there is none

}  // namespace gpuforge::layout
