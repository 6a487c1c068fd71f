#include "gpuforge/layout/names.h"

#include <algorithm>

#include "gpuforge/layout/expression.h"
#include "gpuforge/layout/operation.h"

namespace gpuforge::layout {
namespace {

constexpr Word kWords[] = {
    {"o", Word::Meaning::compose},       {"true", Word::Meaning::truth},
    {"false", Word::Meaning::truth},     {"None", Word::Meaning::underscore},  // as Python writes `_`
    {"Sw", Word::Meaning::swizzle},      {"S", Word::Meaning::swizzle},
    {"Swizzle", Word::Meaning::swizzle}, {"Int", Word::Meaning::integer},
    {"C", Word::Meaning::integer},       {"Shape", Word::Meaning::tuple},
    {"Stride", Word::Meaning::tuple},    {"Coord", Word::Meaning::tuple},
    {"Tile", Word::Meaning::tuple},      {"Step", Word::Meaning::tuple},
    {"Layout", Word::Meaning::layout},
};

bool continues_name(char c) {
  return starts_name(c) || is_digit(c) || c == '_';
}

}  // namespace

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

bool starts_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

std::string_view name_at(std::string_view text, std::size_t at) {
  std::size_t end = at;
  if (end < text.size() && starts_name(text[end])) ++end;
  while (end > at && end < text.size() && continues_name(text[end])) ++end;
  return text.substr(at, end - at);
}

std::string shown_at(std::string_view text, std::size_t at) {
  if (at >= text.size()) return "the end";
  const char c = text[at];
  if (c >= ' ' && c <= '~') return format_text("'{}'", c);
  return format_text("the byte {:#04x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
}

const Word* find_word(std::string_view name) {
  const auto* const found =
      std::find_if(std::begin(kWords), std::end(kWords), [&](const Word& word) { return word.name == name; });
  return found != std::end(kWords) ? found : nullptr;
}

bool is_reserved(std::string_view name) {
  return find_word(name) != nullptr && (name.size() > 1 || name == "o");
}

std::string_view check_name(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  if (text.empty()) refuse("layout: expected a name before '=', found none");
  if (name_at(text, 0).size() != text.size()) {
    std::string found(text.substr(0, 64));
    std::replace_if(
        found.begin(), found.end(), [](char c) { return c < ' ' || c > '~'; }, '.');
    refuse("layout: expected a name before '=' (a letter, then letters, digits and _), found '{}'", found);
  }
  if (find_function(text) != nullptr)
    refuse("layout: '{}' is a function, it cannot be bound to a value", text);
  if (is_reserved(text)) refuse("layout: '{}' has a meaning of its own, it cannot be bound to a value", text);
  return text;
}

std::vector<std::string> unbound_names(std::string_view text, const Bindings& bindings) {
  std::vector<std::string> unbound;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view name = name_at(text, at);
    at += std::max<std::size_t>(1, name.size());
    if (name.empty() || bindings.contains(name) || find_function(name) != nullptr) continue;
    const std::size_t next = std::min(text.find_first_not_of(" \t\r\n\v\f", at), text.size());
    if (is_reserved(name) || (next < text.size() && text[next] == '<')) continue;
    if (name == "X" && text.find("Step") != std::string_view::npos) continue;
    if (std::find(unbound.begin(), unbound.end(), name) == unbound.end()) unbound.emplace_back(name);
  }
  return unbound;
}

}  // namespace gpuforge::layout
