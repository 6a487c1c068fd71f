#include "gpuforge/jit/kernel_names.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace gpuforge::jit {
namespace {

// Longer names are not ones a person wrote, and the demangler's work grows faster than its input.
constexpr std::size_t kLongestMangledName = 8192;

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// "float const*" -> "const float*", as people write it.
std::string const_first(std::string_view type) {
  const std::size_t at = type.find(" const");
  if (at == std::string_view::npos || type.find_first_of("*&([<") < at) return std::string(type);
  return "const " + std::string(type.substr(0, at)) + std::string(type.substr(at + 6));
}

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

}  // namespace

std::vector<std::string> split_list(std::string_view list) {
  std::vector<std::string> parts;
  std::string open;  // brackets still open
  std::size_t begin = 0;
  const auto close = [&](char bracket) {
    // "a < b" inside parentheses opens nothing: what is left open in there ends with them.
    const std::size_t at = open.rfind(bracket);
    if (at != std::string::npos) open.resize(at);
  };
  for (std::size_t i = 0; i < list.size(); ++i) {
    switch (list[i]) {
      case '(':
      case '[':
      case '{':
      case '<':
        open.push_back(list[i]);
        break;
      case ')':
        close('(');
        break;
      case ']':
        close('[');
        break;
      case '}':
        close('{');
        break;
      case '>':
        if (!open.empty() && open.back() == '<') open.pop_back();
        break;
      case ',':
        if (open.empty()) {
          parts.emplace_back(trim(list.substr(begin, i - begin)));
          begin = i + 1;
        }
        break;
      default:
        break;
    }
  }
  const std::string_view last = trim(list.substr(begin));
  if (!last.empty() || !parts.empty()) parts.emplace_back(last);
  return parts;
}

std::optional<DemangledName> demangle(const std::string& name) {
  if (!name.starts_with("_Z") || name.size() > kLongestMangledName) return std::nullopt;
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free);
  if (status != 0 || text == nullptr) return std::nullopt;
  std::string_view whole = text.get();
  const std::size_t open = open_of_last_list(whole);
  if (open == std::string_view::npos) return std::nullopt;
  DemangledName result;
  for (const std::string& type : split_list(whole.substr(open + 1, whole.size() - open - 2))) {
    result.types.push_back(const_first(type));
  }
  // A template's mangled name holds its return type, which for a kernel is void.
  std::string_view expression = whole.substr(0, open);
  if (expression.starts_with("void ")) expression.remove_prefix(5);
  result.expression = expression;
  return result;
}

std::string_view unqualified(std::string_view expression) {
  std::size_t end = expression.size();
  std::size_t depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < expression.size(); ++i) {
    const char c = expression[i];
    if (c == '<' || c == '(') {
      if (depth == 0 && c == '<') end = i;
      ++depth;
    } else if ((c == '>' || c == ')') && depth > 0) {
      --depth;
    } else if (depth == 0 && expression.substr(i, 2) == "::") {
      begin = i + 2;
      end = expression.size();
      ++i;
    }
  }
  return trim(expression.substr(begin, end < begin ? 0 : end - begin));
}

}  // namespace gpuforge::jit
