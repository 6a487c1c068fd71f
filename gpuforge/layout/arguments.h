// Arguments of the language's functions as what they are meant to be. Not installed.
#pragma once

#include "gpuforge/layout/expression.h"

namespace gpuforge::layout {

// Errors say what was expected and what was found.
const IntTuple& as_tuple(const Value& value);
std::int64_t as_number(const Value& value);
std::size_t as_count(const Value& value);  // 0 or more
Layout as_layout(const Value& value);      // a shape is a compact layout
const Layout& as_plain_layout(const Value& value);
AnyLayout as_any_layout(const Value& value);
Tiler as_tiler(const Value& value);
bool is_layout(const Value& value);  // swizzled ones too
bool is_swizzled(const Value& value);

Value value_of(AnyLayout layout);

}  // namespace gpuforge::layout
