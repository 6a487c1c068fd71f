// A test written as a PTX file: its head comment says what goes in and what must come out (README.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuforge::ptx_files {

enum class Kind : std::uint8_t { bits, unsigned_integer, signed_integer, floating, brain };

struct ElementType {
  std::string_view name;
  Kind kind = Kind::bits;
  unsigned bytes = 4;
};

// An element as the memory holds it: the low and the high 64 bits.
struct Element {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  friend bool operator==(const Element&, const Element&) = default;
};

struct Expected {
  enum class Rule : std::uint8_t { bits, any, not_a_number };
  Rule rule = Rule::bits;
  Element value;
};

struct Tolerance {
  bool relative = true;  // in units of the last place, else absolute
  double size = 0;       // 0: the bits must be the same
};

// One parameter of the kernel.
struct Argument {
  std::string name;
  ElementType type;
  bool by_value = false;           // the bytes themselves; else the address of a buffer that holds them
  bool has_input = false;          // `bytes` are what the kernel starts from; else they are poison
  std::vector<std::byte> bytes;    // never empty
  std::vector<Expected> expected;  // empty: not looked at
  Tolerance tolerance;
};

struct Extent {
  std::uint32_t x = 1, y = 1, z = 1;
};

struct PtxCase {
  std::string name;  // the file's, without folder and ending
  std::string text;
  std::string entry;
  Extent grid;
  Extent block;
  Extent cluster;
  std::size_t dynamic_shared_bytes = 0;
  std::vector<Argument> arguments;
  std::string sim_only;               // why it does not run on a GPU; empty: it does
  std::string cuda_only;              // the same for the simulator
  std::vector<std::string> findings;  // the simulator's kinds of finding that must come; no others may
  int target = 0;                     // of the .target line: 90 for sm_90a
  bool target_is_exact = false;       // sm_90a runs on that chip alone
};

// invalid_argument "name:line: ..." for a head that says something unknown or nothing.
PtxCase read_case(std::string_view path, std::string_view text);

// What differs between `found` and the argument's expectation, a line each; empty when nothing does.
std::string differences(const Argument& argument, std::span<const std::byte> found);

}  // namespace gpuforge::ptx_files
