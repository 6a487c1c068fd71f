// The table of what the simulator knows. A row is the syntax of a family of instructions, as documentation
// and as the rule that accepts it, with the function that chooses its handlers. docs/sim.md is made from the
// rows.
//
// Syntax: the mnemonic; modifiers, each `.x` (must stand), `(.x|.y)` (one of), or `[.x|.y]` (one or none),
// which the text may have in another order as long as types keep theirs; then operands, separated by commas.
// An operand is its kind and, after a colon, its type:
//   d     destination register
//   p     destination predicate; p|q: two of them, of which either may be left out or be _ in the text
//   d|p   destination register and an optional predicate (shfl)
//   a b c e f  sources: register or immediate; predicates when the type is pred
//   ?c    an optional last source: its slot holds kNoOperand when absent
//   v     vector or scalar of registers or immediates (1, 2, 4 or 8); V: a vector, never a scalar
//   [m]   an address: op.address, op.immediate, op.space; takes no slot
//   [a]   one of several addresses: a register with nothing added to it, in a slot
//   cc    the carry flag's mask: not in the text, but takes a slot
//   n     an integer constant: op.immediate holds it; takes no slot
// types: t the instruction's last type modifier; s the one before it (cvt is "d:s, a:t"); w twice t's width;
//   u16 u32 u64 b128; pred; x any width the register has (op.register_bytes says which).
//   A register of another width than its type is refused, x excepted; a b8 type is held in any register.
// The operand slots of Op are filled in the order written, vectors expanded. A destination or vector element
// that the text leaves out or writes as _ gets a scratch row or mask. A negated predicate source (!p) is
// resolved by the decoder. Rows are tried in order; the first whose modifiers and operand kinds fit is taken.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "gpuforge/sim/op.h"
#include "gpuforge/sim/opcode_class.h"

namespace gpuforge::sim {

inline constexpr std::uint32_t kNoOperand = 0xffffffffu;

enum class Type : std::uint8_t {
  none,
  u8,
  s8,
  b8,
  u16,
  s16,
  b16,
  f16,
  bf16,
  u32,
  s32,
  b32,
  f32,
  tf32,
  f16x2,
  bf16x2,
  u64,
  s64,
  b64,
  f64,
  b128,
  pred,
  e4m3,
  e5m2,
  e4m3x2,
  e5m2x2,
  e2m1x2,
  e2m3x2,
  e3m2x2,
  ue8m0x2,
  u16x2,
  s16x2,
  f32x2
};
int bits(Type type);  // 1 for pred

// One instruction's modifiers, matched against a row.
struct Match {
  std::span<const std::string_view> modifiers;  // without dots, as written
  Type type = Type::none;                       // the last type modifier
  Type other_type = Type::none;                 // the type modifier before it
  bool has(std::string_view modifier) const {
    for (const std::string_view one : modifiers)
      if (one == modifier) return true;
    return false;
  }
};

// Of a handler that looks at warp.active itself.
constexpr Handlers both(Handler handler) {
  return {handler, handler};
}
// The binder of rows that have such a one whatever their modifiers.
template <Handler kHandler>
Handlers bind_one(const Match&) {
  return both(kHandler);
}

struct OpcodeRow {
  std::string_view syntax;
  OpClass op_class = OpClass::other;
  // Handlers for these modifiers; {} when the row accepts a combination that PTX forbids.
  Handlers (*bind)(const Match& match) = nullptr;
  std::string_view note = {};  // for the documentation, where something must be said
};

}  // namespace gpuforge::sim
