// Characters, names and words of the language. Not installed.
#pragma once

#include <string>
#include <string_view>

namespace gpuforge::layout {

// Of ASCII, whatever the locale.
bool is_digit(char c);
bool is_space(char c);
bool starts_name(char c);
// The name that begins there; empty: none does.
std::string_view name_at(std::string_view text, std::size_t at);
// What stands there, for messages: 'x', the byte 0x07, the end.
std::string shown_at(std::string_view text, std::size_t at);

// A name with a meaning of its own.
struct Word {
  enum class Meaning { compose, truth, underscore, swizzle, integer, tuple, layout };
  std::string_view name;
  Meaning meaning;
};
const Word* find_word(std::string_view name);  // nullptr: it has none

// Never a name. The words of one letter are names where no `<` follows: S and C may be sizes or layouts.
bool is_reserved(std::string_view name);
// The name without the blanks around it; an Error when no value can be bound to it.
std::string_view check_name(std::string_view text);

}  // namespace gpuforge::layout
