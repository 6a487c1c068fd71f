// A decoded instruction and the handler that runs it for one warp. Not installed.
//
// A warp's registers are rows of 32 lanes in its frame: 32 x 4 bytes for types of up to 32 bits (narrower
// values are kept zero-extended), 32 x 8 for 64 bits, 2 x 32 x 8 (low row, high row) for 128 bits; a
// predicate is one 32-bit mask. An operand is the byte offset of its row or mask from the frame's start.
// Immediates and special registers are rows too, filled when the frame is made, so a handler never asks what
// an operand is.
#pragma once

#include <array>
#include <cstdint>

namespace gpuforge::sim {

using Mask = std::uint32_t;
inline constexpr int kLanes = 32;
inline constexpr Mask kAllLanes = 0xffffffffu;

struct Warp;
struct Op;

// Runs one instruction for the lanes of warp.active and gives the next one: op + 1, except for control flow.
// nullptr hands control back to the scheduler (the warp waits, ended, or failed).
using Handler = const Op* (*)(Warp& warp, const Op* op);

// `full` may write every lane of its destinations: no other lane of the warp is elsewhere. `masked` keeps the
// lanes outside warp.active as they are. Handlers that look at warp.active themselves give the same twice.
struct Handlers {
  Handler full = nullptr;
  Handler masked = nullptr;
};

enum class Space : std::uint8_t { generic, global, shared, local, constant, param, function_param };

struct Op {
  // What the loop calls: by warp.mode. For a guarded instruction these are wrappers, and `inner` the real
  // ones.
  std::array<Handler, 3> run{};
  Handlers inner;
  std::array<std::uint32_t, 9>
      operand{};                    // rows and masks, in the order of the row's syntax, vectors expanded
  std::uint32_t guard = 0;          // a predicate's mask, when has_guard
  std::int64_t immediate = 0;       // the offset of an address; else what the row's binder documents
  std::uint32_t address = 0;        // row of an address's base register, when has_address_row
  std::uint32_t site = 0;           // index of the instruction in its Code: counters, source line, text
  std::uint32_t target = 0;         // branches: op index; calls: index of the Call
  std::uint8_t count = 1;           // elements of a vector operand
  std::uint8_t register_bytes = 4;  // row width of the vector or first data operand: 4, 8 or 16
  std::uint8_t source_bytes = 4;    // row width of the first source operand
  std::uint8_t address_bytes = 8;   // width of the address row: 4 or 8
  bool has_guard = false;
  bool guard_negated = false;
  bool has_address_row = false;
  Space space = Space::generic;  // of the address
  std::uint16_t sources = 0;     // which slots of `operand` are read, which written
  std::uint16_t destinations = 0;
};

}  // namespace gpuforge::sim
