// Names of C++ functions as people write them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace gpuforge {

struct FunctionName {
  std::string name;        // "ns::tile<float, 3>", without the return type
  std::string parameters;  // "float const*, int"
};
// Nothing when `mangled` is not the mangled name of a function: extern "C", damaged, absurdly long.
std::optional<FunctionName> demangle_function(std::string_view mangled);

// "ns::tile<float, 3>", or the name as it is when it is not mangled.
std::string readable_name(std::string_view name);

}  // namespace gpuforge
