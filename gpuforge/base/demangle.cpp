#include "gpuforge/base/demangle.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace gpuforge {
namespace {

// Longer names are not ones a person wrote, and the demangler's work grows faster than its input.
constexpr std::size_t kLongestMangledName = 8192;

// Where the '(' of the list that ends `text` stands; npos when brackets do not match.
std::size_t open_of_last_list(std::string_view text) {
  std::size_t depth = 0;
  for (std::size_t i = text.size(); i-- > 0;) {
    if (text[i] == ')') ++depth;
    if (text[i] == '(' && --depth == 0) return i;
    if (depth == 0) break;  // the text does not end in a list
  }
  return std::string_view::npos;
}

// A template's mangled name holds its return type: what stands before the last space outside brackets.
std::string_view without_return_type(std::string_view text) {
  if (text.find("operator") != std::string_view::npos) return text;
  std::size_t begin = 0;
  std::size_t depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '<' || c == '(' || c == '{' || c == '[') ++depth;
    if ((c == '>' || c == ')' || c == '}' || c == ']') && depth > 0) --depth;
    if (c == ' ' && depth == 0) begin = i + 1;
  }
  return text.substr(begin);
}

}  // namespace

std::optional<FunctionName> demangle_function(std::string_view mangled) {
  if (!mangled.starts_with("_Z") || mangled.size() > kLongestMangledName) return std::nullopt;
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(std::string(mangled).c_str(), nullptr, nullptr, &status), std::free);
  if (status != 0 || text == nullptr) return std::nullopt;
  std::string_view whole = text.get();
  constexpr std::string_view kConst = " const";
  if (whole.ends_with(kConst)) whole.remove_suffix(kConst.size());
  const std::size_t open = open_of_last_list(whole);
  if (open == std::string_view::npos) return std::nullopt;
  return FunctionName{std::string(without_return_type(whole.substr(0, open))),
                      std::string(whole.substr(open + 1, whole.size() - open - 2))};
}

std::string readable_name(std::string_view name) {
  std::optional<FunctionName> demangled = demangle_function(name);
  return demangled ? std::move(demangled->name) : std::string(name);
}

}  // namespace gpuforge
