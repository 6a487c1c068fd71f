// Names of a function's body: nested scopes, register ranges, labels that are used before they stand.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "gpuforge/ptx/tree.h"

namespace gpuforge::sim {

struct Symbol {
  enum class Kind : std::uint8_t {
    reg,
    range,
    shared,
    local,
    kernel_param,
    function_param,
    label,
    prototype,
    targets
  };
  Kind kind = Kind::reg;
  std::uint8_t bits = 32;     // registers
  std::uint8_t elements = 1;  // registers declared .v2 or .v4
  std::uint32_t number = 0;   // first register's number, label number, offset
  std::uint32_t range = 0;    // how many registers
  const ptx::Variable* variable = nullptr;
  const ptx::Targets* targets = nullptr;
};

class Names {
 public:
  void open() { scopes_.emplace_back(); }
  void close() { scopes_.pop_back(); }
  // False when the innermost scope has that name already.
  bool declare(std::string_view name, const Symbol& symbol) {
    return scopes_.back().emplace(name, symbol).second;
  }
  // A register of a range (%r12 of %r<20>) comes back as a register of its own.
  const Symbol* find(std::string_view name);

 private:
  std::vector<std::unordered_map<std::string_view, Symbol>> scopes_;
  Symbol found_;
};

}  // namespace gpuforge::sim
