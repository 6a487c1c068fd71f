// What a kernel's name and its declaration in the source tell about it. Text work for compiled.h; not
// installed.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuforge::jit {

struct DemangledName {
  std::string expression;          // "ns::tile<float, 3>"
  std::vector<std::string> types;  // "const float*", "int"
};
// Nothing when `name` is not mangled (extern "C").
std::optional<DemangledName> demangle(const std::string& name);

// "ns::tile<float, 3>" -> "tile"
std::string_view unqualified(std::string_view expression);

// The parts of a list at its top-level commas, trimmed: brackets of all kinds nest. "" has none.
std::vector<std::string> split_list(std::string_view list);

struct DeclaredParameter {
  std::string type;  // "const float*"
  std::string name;  // may be empty
};
// Every parameter list of a `__global__` function called `name` in a source text: declarations, definitions
// and overloads in order. Comments, strings and directives are skipped; macros stay unexpanded; lists with a
// parameter pack are left out.
std::vector<std::vector<DeclaredParameter>> find_declarations(std::string_view source_text,
                                                              std::string_view name);

}  // namespace gpuforge::jit
