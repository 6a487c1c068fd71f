#include "gpuforge/jit/kernel_names.h"

#include "gpuforge/base/demangle.h"

namespace gpuforge::jit {
namespace {

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
  const std::optional<FunctionName> function = demangle_function(name);
  if (!function) return std::nullopt;
  DemangledName result;
  for (const std::string& type : split_list(function->parameters)) result.types.push_back(const_first(type));
  result.expression = function->name;
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
