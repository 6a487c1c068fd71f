// Instructions drawn from the simulator's opcode table, with operands that a random kernel has.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gpuforge/sim/syntax.h"
#include "tests/ptx/random.h"

namespace gpuforge::ptx_files {

// The registers that instructions read and write at random: %p0.., %h0.. (16 bits), %r0.. (32), %d0.. (64),
// %q0.. (128).
struct RegisterCounts {
  unsigned p = 4, h = 6, r = 8, d = 6, q = 2;
};
inline constexpr RegisterCounts kRegisters;
inline constexpr unsigned kSlotBytes = 64;  // of its own that each thread has in every space
// The threads of a block, for barriers that count.
inline constexpr unsigned kBlockThreads = 64;

// One row of the table with all it needs to become text.
struct DrawnRow {
  const sim::OpcodeRow* row = nullptr;
  sim::RowSyntax syntax;
};

// An instruction's words: the opcode with its modifiers.
struct Form {
  const DrawnRow* row = nullptr;
  std::vector<std::string_view> modifiers;
  sim::Match match() const { return sim::make_match(modifiers); }
};

// Why this row is never drawn, or nothing: its results are not fixed by the manual, an H200 does not have it,
// or it is made in another way. Every other row is.
std::string_view why_not_drawn(const sim::OpcodeRow& row);
// The table's rows of one family that are drawn.
std::vector<DrawnRow> drawn_rows(std::span<const sim::OpcodeRow> family);

// Random modifiers of a row that an H200 takes; no modifiers at all when none were found.
bool draw_form(Random& random, const DrawnRow& row, Form* form);
// The instruction without guard: "add.s32 %r1, %r2, 7;".
std::string instruction_text(Random& random, const Form& form);

}  // namespace gpuforge::ptx_files
