// What `gpuforge layout` says of a value, as JSON members and as text.
#pragma once

#include <string>

#include "gpuforge/base/json.h"
#include "gpuforge/layout/expression.h"

namespace gpuforge::cli {

// A layout's `layout`, `shape`, `stride`, `size`, `cosize`, `rank`, `depth` and what else it has; anything
// else is `value` and `text`.
void add_value(Json& json, const layout::Value& value);

// `unknown`: the names that are bound to nothing, where there are any.
void add_unknown(Json& json, const std::vector<std::string>& names);

// The type that a layout or a shape has in kernels (kernels/tile.cuh).
std::string type_text(const layout::Value& value);

// The value on a line of its own, and what is known of it below, sentences wrapped at `columns`.
std::string value_text(const layout::Value& value, int columns);

}  // namespace gpuforge::cli
