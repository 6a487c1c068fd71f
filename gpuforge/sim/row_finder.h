// From an instruction's words to the row of the opcode table that accepts it.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "gpuforge/ptx/tree.h"
#include "gpuforge/sim/syntax.h"

namespace gpuforge::sim {

struct FoundRow {
  const OpcodeRow* row = nullptr;
  const RowSyntax* syntax = nullptr;
  Handlers handlers;
  Match match;
};

class RowFinder {
 public:
  RowFinder();
  // Rows are looked up by opcode and modifiers once, then remembered. `why` says what is wrong when there is
  // none.
  const FoundRow* find(const ptx::Instruction& instruction, std::string* why);

 private:
  struct Candidates {
    bool known_mnemonic = false;
    std::vector<FoundRow> rows;
  };
  const Candidates& candidates(const ptx::Instruction& instruction);
  const RowSyntax& syntax_of(const OpcodeRow& row);

  std::unordered_multimap<std::string_view, const OpcodeRow*> by_mnemonic_;
  std::unordered_map<const OpcodeRow*, RowSyntax> compiled_;
  std::unordered_map<std::string_view, Candidates> memo_;
};

}  // namespace gpuforge::sim
