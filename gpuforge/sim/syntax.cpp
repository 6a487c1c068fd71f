#include "gpuforge/sim/syntax.h"

#include <algorithm>
#include <array>
#include <functional>

#include "gpuforge/base/error.h"

namespace gpuforge::sim {
namespace {

struct TypeName {
  std::string_view name;
  Type type;
  int bits;
};
constexpr std::array kTypes = {
    TypeName{"u8", Type::u8, 8},
    TypeName{"s8", Type::s8, 8},
    TypeName{"b8", Type::b8, 8},
    TypeName{"u16", Type::u16, 16},
    TypeName{"s16", Type::s16, 16},
    TypeName{"b16", Type::b16, 16},
    TypeName{"f16", Type::f16, 16},
    TypeName{"bf16", Type::bf16, 16},
    TypeName{"u32", Type::u32, 32},
    TypeName{"s32", Type::s32, 32},
    TypeName{"b32", Type::b32, 32},
    TypeName{"f32", Type::f32, 32},
    TypeName{"tf32", Type::tf32, 32},
    TypeName{"f16x2", Type::f16x2, 32},
    TypeName{"bf16x2", Type::bf16x2, 32},
    TypeName{"u64", Type::u64, 64},
    TypeName{"s64", Type::s64, 64},
    TypeName{"b64", Type::b64, 64},
    TypeName{"f64", Type::f64, 64},
    TypeName{"b128", Type::b128, 128},
    TypeName{"pred", Type::pred, 1},
    TypeName{"e4m3", Type::e4m3, 8},
    TypeName{"e5m2", Type::e5m2, 8},
    TypeName{"e4m3x2", Type::e4m3x2, 16},
    TypeName{"e5m2x2", Type::e5m2x2, 16},
    TypeName{"e2m1x2", Type::e2m1x2, 8},
    TypeName{"e2m3x2", Type::e2m3x2, 16},
    TypeName{"e3m2x2", Type::e3m2x2, 16},
    TypeName{"ue8m0x2", Type::ue8m0x2, 16},
    TypeName{"u16x2", Type::u16x2, 32},
    TypeName{"s16x2", Type::s16x2, 32},
    TypeName{"f32x2", Type::f32x2, 64},
};

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

ModifierGroup compile_group(std::string_view words, bool optional) {
  ModifierGroup group;
  group.optional = optional;
  while (!words.empty()) {
    const std::size_t bar = words.find('|');
    std::string_view word = trimmed(words.substr(0, bar));
    GPUFORGE_ASSERT(word.size() > 1 && word.front() == '.', "a modifier starts with a dot");
    group.words.push_back(word.substr(1));
    words = bar == std::string_view::npos ? std::string_view{} : words.substr(bar + 1);
  }
  return group;
}

OperandSyntax compile_operand(std::string_view text) {
  OperandSyntax operand;
  if (text.front() == '?') {
    operand.optional = true;
    text.remove_prefix(1);
  }
  const std::size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  const std::string_view type = colon == std::string_view::npos ? std::string_view{} : text.substr(colon + 1);
  if (kind == "d")
    operand.kind = OperandKind::destination;
  else if (kind == "p")
    operand.kind = OperandKind::predicate;
  else if (kind == "p|q")
    operand.kind = OperandKind::predicate_pair;
  else if (kind == "d|p")
    operand.kind = OperandKind::destination_and_predicate;
  else if (kind == "v")
    operand.kind = OperandKind::vector;
  else if (kind == "V")
    operand.kind = OperandKind::strict_vector;
  else if (kind == "[m]")
    operand.kind = OperandKind::address;
  else if (kind == "[a]")
    operand.kind = OperandKind::address_register;
  else if (kind == "cc")
    operand.kind = OperandKind::carry;
  else if (kind == "n")
    operand.kind = OperandKind::constant;
  else {
    GPUFORGE_ASSERT(kind.size() == 1 && std::string_view("abcef").find(kind[0]) != std::string_view::npos,
                    "an operand's kind");
    operand.kind = OperandKind::source;
  }
  if (type.empty() || type == "t")
    operand.type = OperandType::type;
  else if (type == "s")
    operand.type = OperandType::other_type;
  else if (type == "w")
    operand.type = OperandType::wide;
  else if (type == "u16")
    operand.type = OperandType::u16;
  else if (type == "u32")
    operand.type = OperandType::u32;
  else if (type == "u64")
    operand.type = OperandType::u64;
  else if (type == "b128")
    operand.type = OperandType::b128;
  else if (type == "pred")
    operand.type = OperandType::pred;
  else {
    GPUFORGE_ASSERT(type == "x", "an operand's type");
    operand.type = OperandType::any;
  }
  if (operand.kind == OperandKind::predicate) operand.type = OperandType::pred;
  return operand;
}

bool fit_from(std::span<const ModifierGroup> groups, std::span<const std::string_view> modifiers) {
  if (groups.empty()) return modifiers.empty();
  const ModifierGroup& group = groups.front();
  if (!modifiers.empty())
    for (const std::string_view word : group.words)
      if (word == modifiers.front() && fit_from(groups.subspan(1), modifiers.subspan(1))) return true;
  return group.optional && fit_from(groups.subspan(1), modifiers);
}

}  // namespace

int bits(Type type) {
  for (const TypeName& one : kTypes)
    if (one.type == type) return one.bits;
  return 0;
}

Type type_named(std::string_view word) {
  for (const TypeName& one : kTypes)
    if (one.name == word) return one.type;
  return Type::none;
}

std::string_view mnemonic(std::string_view syntax) {
  return syntax.substr(0, syntax.find_first_of(".([ "));
}

RowSyntax compile_syntax(std::string_view syntax) {
  RowSyntax row;
  row.mnemonic = mnemonic(syntax);
  std::string_view rest = syntax.substr(row.mnemonic.size());
  while (!rest.empty() && rest.front() != ' ') {
    const char open = rest.front();
    if (open == '.') {
      const std::size_t end = rest.find_first_of(".([ ", 1);
      row.modifiers.push_back(compile_group(rest.substr(0, end), false));
      rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end);
      continue;
    }
    GPUFORGE_ASSERT(open == '(' || open == '[', "a modifier group");
    const std::size_t end = rest.find(open == '(' ? ')' : ']');
    GPUFORGE_ASSERT(end != std::string_view::npos, "a modifier group is closed");
    row.modifiers.push_back(compile_group(rest.substr(1, end - 1), open == '['));
    rest = rest.substr(end + 1);
  }
  while (!(rest = trimmed(rest)).empty()) {
    const std::size_t comma = rest.find(',');
    row.operands.push_back(compile_operand(trimmed(rest.substr(0, comma))));
    rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
  }
  return row;
}

bool modifiers_fit_in_any_order(const RowSyntax& row, std::span<const std::string_view> modifiers) {
  std::vector<bool> used(modifiers.size(), false);
  // `after` the last type taken: cvt.f32.s32 is not cvt.s32.f32.
  const std::function<bool(std::size_t, std::size_t)> from = [&](std::size_t group, std::size_t after) {
    if (group == row.modifiers.size()) return std::find(used.begin(), used.end(), false) == used.end();
    for (std::size_t i = 0; i < modifiers.size(); ++i) {
      const auto& words = row.modifiers[group].words;
      if (used[i] || std::find(words.begin(), words.end(), modifiers[i]) == words.end()) continue;
      const bool is_type = type_named(modifiers[i]) != Type::none;
      if (is_type && i < after) continue;
      used[i] = true;
      if (from(group + 1, is_type ? i + 1 : after)) return true;
      used[i] = false;
    }
    return row.modifiers[group].optional && from(group + 1, after);
  };
  return modifiers.size() <= 16 && from(0, 0);
}

bool modifiers_fit(const RowSyntax& row, std::span<const std::string_view> modifiers) {
  return fit_from(row.modifiers, modifiers);
}

Match make_match(std::span<const std::string_view> modifiers) {
  Match match;
  match.modifiers = modifiers;
  for (const std::string_view word : modifiers) {
    const Type type = type_named(word);
    if (type == Type::none) continue;
    match.other_type = match.type;
    match.type = type;
  }
  return match;
}

}  // namespace gpuforge::sim
