#include "gpuforge/sim/row_finder.h"

#include <algorithm>

#include "gpuforge/base/error.h"
#include "gpuforge/sim/table.h"

namespace gpuforge::sim {
namespace {

std::string_view opcode_text(const ptx::Instruction& instruction) {
  const char* const begin = instruction.opcode.data();
  const std::string_view last =
      instruction.modifiers.empty() ? instruction.opcode : instruction.modifiers.back();
  return {begin, static_cast<std::size_t>(last.data() + last.size() - begin)};
}

template <class T>
bool is(const ptx::Operand& operand) {
  return std::holds_alternative<T>(operand.value);
}

bool operand_fits(OperandKind kind, const ptx::Operand& operand) {
  switch (kind) {
    case OperandKind::destination:
    case OperandKind::predicate:
      return is<ptx::Name>(operand);
    case OperandKind::predicate_pair:
    case OperandKind::destination_and_predicate:
      return is<ptx::Name>(operand) || is<ptx::Pair>(operand);
    case OperandKind::source:
      return is<ptx::Name>(operand) || is<ptx::Constant>(operand) || is<ptx::NamePlus>(operand) ||
             is<ptx::Not>(operand);
    case OperandKind::vector:
      return is<ptx::Vector>(operand) || is<ptx::Name>(operand) || is<ptx::Constant>(operand);
    case OperandKind::strict_vector:  // a name may be a vector register; the lister knows
      return is<ptx::Vector>(operand) || is<ptx::Name>(operand);
    case OperandKind::address:
    case OperandKind::address_register:
      return is<ptx::Address>(operand);
    case OperandKind::constant:
      return is<ptx::Constant>(operand);
    case OperandKind::carry:
      break;
  }
  return false;
}

bool operands_fit(const RowSyntax& row, const std::vector<ptx::Operand>& operands) {
  std::size_t next = 0;
  for (const OperandSyntax& syntax : row.operands) {
    if (syntax.kind == OperandKind::carry) continue;
    if (next == operands.size()) {
      if (!syntax.optional) return false;
      continue;
    }
    if (!operand_fits(syntax.kind, operands[next])) return false;
    ++next;
  }
  return next == operands.size();
}

}  // namespace

RowFinder::RowFinder() {
  for (const auto& family : opcode_families())
    for (const OpcodeRow& row : family) by_mnemonic_.emplace(mnemonic(row.syntax), &row);
}

const RowSyntax& RowFinder::syntax_of(const OpcodeRow& row) {
  const auto [found, added] = compiled_.try_emplace(&row);
  // Rows without a binder name operands that only the decoder understands.
  if (added)
    found->second =
        compile_syntax(row.bind != nullptr ? row.syntax : row.syntax.substr(0, row.syntax.find(' ')));
  return found->second;
}

const RowFinder::Candidates& RowFinder::candidates(const ptx::Instruction& instruction) {
  const auto [found, added] = memo_.try_emplace(opcode_text(instruction));
  Candidates& result = found->second;
  if (!added) return result;
  const auto [first, last] = by_mnemonic_.equal_range(instruction.opcode);
  std::vector<const OpcodeRow*> rows;
  for (auto row = first; row != last; ++row) rows.push_back(row->second);
  // A multimap promises no order among equals; rows of one mnemonic stand in one array, so addresses do.
  std::sort(rows.begin(), rows.end());
  result.known_mnemonic = !rows.empty();
  const auto collect = [&](auto fits) {
    for (const OpcodeRow* row : rows) {
      const RowSyntax& syntax = syntax_of(*row);
      if (!fits(syntax, instruction.modifiers)) continue;
      FoundRow candidate{row, &syntax, {}, make_match(instruction.modifiers)};
      if (row->bind != nullptr) {
        candidate.handlers = row->bind(candidate.match);
        if (candidate.handlers.full == nullptr) continue;
      }
      result.rows.push_back(candidate);
    }
  };
  collect(modifiers_fit);
  if (result.rows.empty()) collect(modifiers_fit_in_any_order);
  return result;
}

const FoundRow* RowFinder::find(const ptx::Instruction& instruction, std::string* why) {
  const Candidates& found = candidates(instruction);
  for (const FoundRow& candidate : found.rows)
    if (candidate.row->bind == nullptr || operands_fit(*candidate.syntax, instruction.operands))
      return &candidate;
  if (!found.known_mnemonic) {
    *why = format_text("the simulator does not know the instruction {}", opcode_text(instruction));
  } else if (found.rows.empty()) {
    *why = format_text("the simulator does not know this form of {}: {}", instruction.opcode,
                       opcode_text(instruction));
  } else {
    *why = format_text("these operands do not fit {}: expected {}", opcode_text(instruction),
                       found.rows.front().row->syntax);
  }
  return nullptr;
}

}  // namespace gpuforge::sim
