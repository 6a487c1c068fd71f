// What the simulator found wrong: values that a test can ask for and a report prints.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gpuforge::sim {

enum class FindingKind : std::uint8_t {
  out_of_bounds,  // an access outside every allocation, or past a space's end
  misaligned,     // an address that is not a multiple of the access's width
  use_after_free,
  read_only,      // a store to constant or parameter space
  uninitialized,  // a value never written reached a store, a branch or an address
  race,           // two accesses, at least one a write, and nothing that orders them
  barrier,        // divergent .aligned, wrong counts, exited threads
  warp_sync,      // a .sync instruction and lanes that do not fit its mask
  deadlock,
  order_dependence,  // another schedule gives another result
  assertion,         // assert() in the kernel
  trap,
  step_limit,  // too many instructions: an endless loop, most likely
  stack_overflow,
};
std::string_view name(FindingKind kind);

struct Index3 {
  std::uint32_t x = 0, y = 0, z = 0;
  friend bool operator==(const Index3&, const Index3&) = default;
};

// Where an instruction stands: in the source when .loc says so, and in the PTX always.
struct Place {
  std::string file;  // empty without .loc
  std::uint32_t line = 0;
  std::uint32_t ptx_line = 0;
  std::string instruction;  // "st.shared.f32 [%r4], %f1"
  // The line is of a function that was inlined: its name, mangled, and where it was called. That call may be
  // of an inlined function too, which follows.
  struct Inlined {
    std::string function;  // empty when not known
    std::string file;
    std::uint32_t line = 0;
  };
  std::vector<Inlined> inlined;
};

struct Finding {
  FindingKind kind = FindingKind::out_of_bounds;
  std::string kernel;
  Place place;
  Index3 block;
  Index3 thread;
  std::string space;          // "global", "shared", "local", ...
  std::uint64_t address = 0;  // as the kernel sees it
  std::uint32_t bytes = 0;
  std::string message;  // one sentence: what happened, and the allocation it missed or the other access
  Place other;          // races: the earlier access; empty else
  Index3 other_block;
  Index3 other_thread;
  std::uint64_t count = 1;  // times seen at these places
  bool suppressed = false;
};

}  // namespace gpuforge::sim
