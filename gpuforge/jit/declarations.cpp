// Finds how a kernel was declared in its source text, well enough for messages. What it is not sure of it
// leaves out.
#include <algorithm>
#include <array>
#include <cctype>

#include "gpuforge/jit/compiled.h"
#include "gpuforge/jit/kernel_names.h"

namespace gpuforge::jit {
namespace {

using Tokens = std::vector<std::string_view>;

bool is_word(std::string_view token) {
  return !token.empty() && (std::isalnum(static_cast<unsigned char>(token[0])) || token[0] == '_');
}

// From a quote to behind its partner, or to the end of the line for text that is not C++.
std::size_t skip_literal(std::string_view text, std::size_t at) {
  const char quote = text[at];
  for (++at; at < text.size() && text[at] != '\n'; ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text[at] == quote) {
      return at + 1;
    }
  }
  return std::min(at, text.size());
}

// R"x( ... )x"
std::size_t skip_raw_literal(std::string_view text, std::size_t quote) {
  const std::size_t open = text.find('(', quote);
  if (open == std::string_view::npos || open - quote > 17) return skip_literal(text, quote);
  const std::string end = ")" + std::string(text.substr(quote + 1, open - quote - 1)) + "\"";
  const std::size_t at = text.find(end, open);
  return at == std::string_view::npos ? text.size() : at + end.size();
}

// To the end of a directive, continued lines included.
std::size_t skip_directive(std::string_view text, std::size_t at) {
  while (at < text.size() && text[at] != '\n') at += text[at] == '\\' ? 2 : 1;
  return std::min(at, text.size());
}

Tokens tokenize(std::string_view text) {
  Tokens tokens;
  std::size_t at = 0;
  bool line_start = true;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '\n') {
      line_start = true;
      ++at;
    } else if (std::isspace(static_cast<unsigned char>(c))) {
      ++at;
    } else if (c == '#' && line_start) {
      at = skip_directive(text, at);
    } else if (text.substr(at, 2) == "//") {
      at = std::min(text.find('\n', at), text.size());
    } else if (text.substr(at, 2) == "/*") {
      const std::size_t end = text.find("*/", at + 2);
      at = end == std::string_view::npos ? text.size() : end + 2;
    } else if (c == '"' || c == '\'') {
      at = skip_literal(text, at);
      line_start = false;
    } else if (is_word(text.substr(at, 1))) {
      const std::size_t begin = at;
      while (at < text.size() && is_word(text.substr(at, 1))) ++at;
      if (text.substr(begin, at - begin) == "R" && at < text.size() && text[at] == '"') {
        at = skip_raw_literal(text, at);
      } else {
        tokens.push_back(text.substr(begin, at - begin));
      }
      line_start = false;
    } else {
      const bool is_pair = text.substr(at, 2) == "::" || text.substr(at, 2) == "&&";
      const std::size_t length = text.substr(at, 3) == "..." ? 3 : is_pair ? 2 : 1;
      tokens.push_back(text.substr(at, length));
      at += length;
      line_start = false;
    }
  }
  return tokens;
}

// Behind the bracket that closes tokens[at]; the end when none does.
std::size_t skip_brackets(const Tokens& tokens, std::size_t at) {
  std::size_t depth = 0;
  for (; at < tokens.size(); ++at) {
    const std::string_view token = tokens[at];
    if (token == "(" || token == "[" || token == "{") ++depth;
    if ((token == ")" || token == "]" || token == "}") && --depth == 0) return at + 1;
  }
  return tokens.size();
}

std::string join(const Tokens& tokens) {
  std::string text;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const bool after_word = i > 0 && (is_word(tokens[i - 1]) || tokens[i - 1] == "*" ||
                                      tokens[i - 1] == "&" || tokens[i - 1] == ">");
    if (i > 0 &&
        ((after_word && is_word(tokens[i])) || tokens[i - 1] == "," || (after_word && tokens[i] == "("))) {
      text += ' ';
    }
    text += tokens[i];
  }
  return text;
}

constexpr std::array kQualifiers = {std::string_view("const"),  std::string_view("volatile"),
                                    std::string_view("struct"), std::string_view("enum"),
                                    std::string_view("class"),  std::string_view("typename"),
                                    std::string_view("union")};
constexpr std::array kBuiltinTypes = {
    std::string_view("void"),     std::string_view("bool"),   std::string_view("char"),
    std::string_view("short"),    std::string_view("int"),    std::string_view("long"),
    std::string_view("float"),    std::string_view("double"), std::string_view("signed"),
    std::string_view("unsigned"), std::string_view("auto")};
constexpr std::array kDropped = {std::string_view("__restrict__"), std::string_view("__restrict"),
                                 std::string_view("restrict"), std::string_view("__grid_constant__"),
                                 std::string_view("register")};

template <std::size_t N>
bool contains(const std::array<std::string_view, N>& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

// Leaves out attributes, alignment and what says nothing about the type.
Tokens without_noise(const Tokens& tokens) {
  Tokens kept;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (contains(kDropped, tokens[i])) continue;
    if (tokens[i] == "=") break;  // a default value
    const bool attribute = tokens[i] == "[" && i + 1 < tokens.size() && tokens[i + 1] == "[";
    const bool call = tokens[i] == "__align__" || tokens[i] == "alignas" || tokens[i] == "__attribute__";
    if (attribute || call) {
      i = skip_brackets(tokens, call ? i + 1 : i) - 1;
      continue;
    }
    kept.push_back(tokens[i]);
  }
  return kept;
}

// In `tokens` without brackets at the end: is the last word a name rather than a part of the type?
bool ends_in_name(const Tokens& tokens) {
  if (tokens.size() < 2 || !is_word(tokens.back())) return false;
  if (contains(kBuiltinTypes, tokens.back()) || contains(kQualifiers, tokens.back())) return false;
  if (tokens[tokens.size() - 2] == "::") return false;
  return std::any_of(tokens.begin(), tokens.end() - 1,
                     [](std::string_view token) { return is_word(token) && !contains(kQualifiers, token); });
}

DeclaredParameter parse_parameter(const Tokens& raw) {
  Tokens tokens = without_noise(raw);
  DeclaredParameter parameter;
  // T (&name)[3], void (*name)(int): the name stands inside the brackets.
  for (std::size_t i = 0; i + 2 < tokens.size(); ++i) {
    if (tokens[i] != "(" || (tokens[i + 1] != "*" && tokens[i + 1] != "&")) continue;
    if (is_word(tokens[i + 2])) {
      parameter.name = tokens[i + 2];
      tokens.erase(tokens.begin() + static_cast<std::ptrdiff_t>(i) + 2);
    }
    parameter.type = join(tokens);
    return parameter;
  }
  // T name[4] is a T*; T name[4][8] points at rows of 8.
  const auto bracket = std::find(tokens.begin(), tokens.end(), "[");
  Tokens rows;
  const bool is_array = bracket != tokens.end();
  if (is_array) {
    const auto first = static_cast<std::size_t>(bracket - tokens.begin());
    rows.assign(tokens.begin() + static_cast<std::ptrdiff_t>(skip_brackets(tokens, first)), tokens.end());
    tokens.resize(first);
  }
  if (ends_in_name(tokens)) {
    parameter.name = tokens.back();
    tokens.pop_back();
  }
  parameter.type = join(tokens);
  if (is_array) parameter.type += rows.empty() ? "*" : " (*)" + join(rows);
  return parameter;
}

}  // namespace

std::vector<std::vector<DeclaredParameter>> find_declarations(std::string_view source_text,
                                                              std::string_view name) {
  const Tokens tokens = tokenize(source_text);
  std::vector<std::vector<DeclaredParameter>> found;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] != "__global__") continue;
    // Up to the function's own name; __launch_bounds__(..) and macros of that kind are stepped over.
    std::size_t at = i + 1;
    while (at < tokens.size() && tokens[at] != ";" && tokens[at] != "{" && tokens[at] != "__global__") {
      if (tokens[at] == "(" && at > 0 && tokens[at - 1] == name) break;
      at = tokens[at] == "(" ? skip_brackets(tokens, at) : at + 1;
    }
    if (at >= tokens.size() || tokens[at] != "(") continue;
    const std::size_t end = skip_brackets(tokens, at);
    if (end == tokens.size() && tokens.back() != ")") continue;  // never closed

    std::vector<DeclaredParameter> list;
    Tokens part;
    std::string open;
    bool has_pack = false;
    const auto flush = [&] {
      list.push_back(parse_parameter(part));
      part.clear();
    };
    for (std::size_t j = at + 1; j + 1 < end; ++j) {
      const std::string_view token = tokens[j];
      has_pack = has_pack || token == "...";
      if (token == "," && open.empty()) {
        flush();
        continue;
      }
      if (token == "(" || token == "[" || token == "{" || token == "<") open.push_back(token[0]);
      if (token == ">" && !open.empty() && open.back() == '<') open.pop_back();
      if (token == ")" || token == "]" || token == "}") {
        const char partner = token == ")" ? '(' : token == "]" ? '[' : '{';
        open.resize(std::min(open.rfind(partner), open.size()));
      }
      part.push_back(token);
    }
    if (!part.empty()) flush();
    if (list.size() == 1 && list[0].type == "void" && list[0].name.empty()) list.clear();
    if (!has_pack) found.push_back(std::move(list));
    i = end - 1;
  }
  return found;
}

void add_declared_types(std::vector<Entry>& entries, std::string_view source_text) {
  for (Entry& entry : entries) {
    const auto demangled = demangle(entry.name);
    const bool has_types = demangled && demangled->types.size() == entry.parameters.size();
    auto declarations = find_declarations(source_text, unqualified(entry.expression));
    std::erase_if(declarations, [&](const auto& list) { return list.size() != entry.parameters.size(); });
    for (std::size_t i = 0; i < entry.parameters.size(); ++i) {
      Parameter& parameter = entry.parameters[i];
      if (has_types) parameter.declared_type = demangled->types[i];
      if (declarations.empty()) continue;
      // Overloads, or branches of an #if: say only what all of them say.
      const DeclaredParameter& first = declarations.front()[i];
      bool same_type = true;
      bool same_name = true;
      for (const auto& list : declarations) {
        same_type = same_type && list[i].type == first.type;
        same_name = same_name && list[i].name == first.name;
      }
      if (same_name && !first.name.empty()) parameter.name = first.name;
      if (!demangled && same_type) parameter.declared_type = first.type;
    }
  }
}

}  // namespace gpuforge::jit
