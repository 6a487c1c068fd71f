// How bits never written go from an instruction's sources to its result, for one lane. A bit of the result is
// written when it is the same whatever the others are. tracking.cpp asks; only warps that hold such bits get
// here.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "gpuforge/sim/opcode.h"

namespace gpuforge::sim {

enum class Spread : std::uint8_t {
  everything,  // one such bit in any source, and the whole result counts as never written
  copy,
  pack,
  unpack,
  select,       // selp: the side not taken does not matter
  logic,        // by a table as lop3 has it
  shift_left,   // the amount must be written
  shift_right,  // the same
  funnel_left,
  funnel_right,
  permute,
  extract,
  insert,
  convert,        // between integers
  upward,         // sums and products: a bit depends on those below it
  parts,          // lanes within a word: each depends on its like
  join,           // two values rounded into the halves of a word
  compare,        // a predicate by order
  compare_equal,  // two bits that differ decide
  predicate_and,  // a false side decides
  predicate_or,   // a true side does
  vote_all,
  vote_any,
  ballot,   // a bit for each lane
  shuffle,  // the handler moves the marks itself
};

struct SpreadRule {
  Spread kind = Spread::everything;
  std::uint8_t bits = 32;         // of each of the first `data` sources; the sources after them steer
  std::uint8_t result_bits = 32;  // of the type; pack and parts: of one part
  std::uint8_t data = 0;
  std::uint8_t table = 0;                // logic: the result by the bits of a, b, c (0xf0, 0xcc, 0xaa)
  bool is_signed = false;                // loads, shifts, extractions and conversions that repeat a sign
  bool result_signed = false;            // conversions
  bool cancels = false;                  // x - x and x ^ x are zero
  bool wraps = false;                    // funnel shifts: the amount modulo 32
  Spread combined = Spread::everything;  // comparisons: predicate_and or predicate_or with the last source

  // Whether the result is made of the sources' own bits, so that a store of it is still a copy.
  bool copies() const { return kind >= Spread::copy && kind <= Spread::convert; }
};

SpreadRule spread_rule(std::string_view opcode, const Match& match);

struct PartlyWritten {
  std::uint64_t value = 0;
  std::uint64_t unwritten = 0;
};
// The bits of the result that were never written, for the kinds from copy to join except select and unpack.
// `immediate`: lop3's table.
std::uint64_t unwritten_result(const SpreadRule& rule, std::span<const PartlyWritten> sources,
                               std::int64_t immediate);
// Whether eq and ne depend on bits never written.
bool equality_unwritten(PartlyWritten a, PartlyWritten b);

}  // namespace gpuforge::sim
