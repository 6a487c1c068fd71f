// The syntax strings of the opcode table (opcode.h), compiled and matched.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "gpuforge/sim/opcode.h"

namespace gpuforge::sim {

enum class OperandKind : std::uint8_t {
  destination,                // d
  predicate,                  // p
  predicate_pair,             // p|q: two slots
  destination_and_predicate,  // d|p: two slots
  source,                     // a b c e f
  vector,                     // v
  strict_vector,              // V
  address,                    // [m]: no slot
  address_register,           // [a]
  carry,                      // cc: a slot, nothing in the text
  constant,                   // n: no slot
};

enum class OperandType : std::uint8_t { type, other_type, wide, u16, u32, u64, b128, pred, any };

struct OperandSyntax {
  OperandKind kind = OperandKind::source;
  OperandType type = OperandType::type;
  bool optional = false;
};

struct ModifierGroup {
  bool optional = false;
  std::vector<std::string_view> words;
};

struct RowSyntax {
  std::string_view mnemonic;
  std::vector<ModifierGroup> modifiers;
  std::vector<OperandSyntax> operands;
};

std::string_view mnemonic(std::string_view syntax);
// internal Error for a string that breaks the rules of opcode.h: the table's mistake.
RowSyntax compile_syntax(std::string_view syntax);
bool modifiers_fit(const RowSyntax& row, std::span<const std::string_view> modifiers);
// ptxas takes the words in any order, and inline assembly makes use of it; types alone keep theirs.
bool modifiers_fit_in_any_order(const RowSyntax& row, std::span<const std::string_view> modifiers);
Match make_match(std::span<const std::string_view> modifiers);
// none for a word that is not a type
Type type_named(std::string_view word);

}  // namespace gpuforge::sim
