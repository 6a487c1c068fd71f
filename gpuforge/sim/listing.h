// A function between text and code: names resolved, rows chosen, registers not yet placed. Not installed.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "gpuforge/sim/code.h"
#include "gpuforge/sim/program.h"

namespace gpuforge::sim {

// What an operand slot refers to. bytes: 4, 8 or 16 per lane; 0 for masks.
struct Value {
  enum class Kind : std::uint8_t {
    none,
    reg,
    constant,
    special,
    constant_mask,
    scratch,
    scratch_mask,
    carry
  };
  Kind kind = Kind::none;
  std::uint8_t bytes = 4;
  std::uint32_t id = 0;  // register number in the listing; SpecialRegister
  std::uint64_t bits = 0;
  std::uint64_t high = 0;
  std::uint8_t width = 0;  // registers: bytes as declared, when fewer than the row's; 0: the row's
  friend bool operator==(const Value&, const Value&) = default;
};

enum class Flow : std::uint8_t {
  none,    // goes on
  branch,  // to a label, guarded or not
  table,   // brx.idx
  call,    // comes back
  leave,   // ret, exit: does not go on
};

// The bits of a constant mask that is not one: all lanes where there are clusters.
inline constexpr std::uint64_t kMaskOfCluster = std::uint64_t{1} << 32;

inline constexpr std::uint32_t kNoLabel = 0xffffffffu;

struct Line {
  const OpcodeRow* row = nullptr;  // nullptr: synthetic
  Handlers handlers;
  Flow flow = Flow::none;
  std::uint8_t slots = 0;
  std::array<Value, 9> operand{};
  Value guard;  // none: always
  bool guard_negated = false;
  Value address;
  std::int64_t immediate = 0;
  std::uint32_t label = kNoLabel;  // branch: where to; table: index of Listing::tables
  std::uint32_t call = 0;          // index of Listing::calls
  std::uint8_t count = 1;
  std::uint8_t register_bytes = 4;
  std::uint8_t source_bytes = 4;
  std::uint8_t address_bytes = 8;
  bool blocks = false;  // may wait or end lanes: never run under a guard
  Space space = Space::generic;
  std::uint16_t sources = 0;
  std::uint16_t destinations = 0;
  std::uint32_t site = 0;
};

struct ListedPassed {
  bool in_row = false;
  Value value;
  std::uint32_t offset = 0;
  std::uint32_t bytes = 0;
};
struct ListedCall {
  std::uint32_t callee = Call::kIndirect;
  Builtin builtin = Builtin::none;
  Value target;
  std::vector<ListedPassed> arguments;
  std::vector<ListedPassed> results;
};

struct Listing {
  const ptx::Function* function = nullptr;
  std::vector<Line> lines;
  std::vector<std::uint32_t> labels;               // by label number: index of the line it stands before
  std::vector<std::vector<std::uint32_t>> tables;  // label numbers
  std::vector<std::uint8_t> registers;             // bytes of each; 0: predicate
  std::vector<ListedCall> calls;
  std::vector<ListedPassed> parameters;  // of a .func: where they arrive
  std::vector<ListedPassed> results;
  std::vector<LocalCopy> copies;
  std::uint32_t param_bytes = 0;
  std::uint32_t local_bytes = 0;
};

// What the functions of an image share while it is made.
class RowFinder;

struct ImageBuilder {
  const Program* program = nullptr;
  Image* image = nullptr;
  std::map<const ptx::Variable*, std::uint32_t> shared_offsets;
  std::map<std::uint32_t, std::uint32_t> codes;  // function index -> code index
};

Listing list_function(ImageBuilder& builder, RowFinder& rows, const ptx::Function& function);
// Places registers, orders blocks, makes ops.
Code make_code(ImageBuilder& builder, Listing& listing);

}  // namespace gpuforge::sim
