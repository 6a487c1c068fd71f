// How values without C++ types (numbers of Python or of a command line) become a kernel's arguments, and how
// a launch's size follows from them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gpuforge/base/dtype.h"
#include "gpuforge/device/launch.h"
#include "gpuforge/jit/compiled.h"

namespace gpuforge::jit {

enum class SlotKind : unsigned char {
  pointer,
  signed_integer,
  unsigned_integer,
  floating,
  word,   // 8 bytes that nothing more is known of: a pointer or an integer
  other,  // a struct: no number
};

struct ArgumentSlot {
  SlotKind kind = SlotKind::other;
  std::size_t bytes = 0;
  DType dtype = DType::f32;      // of a floating one
  std::optional<DType> pointee;  // of a pointer, where its declaration tells
  bool counts_elements = false;  // an integer called n, N, count, size or numel
};

std::vector<ArgumentSlot> argument_slots(const Entry& entry);

// "parameter 1 'a' of saxpy (float)", for messages.
std::string slot_text(const Entry& entry, std::size_t index);

// The value as the slot's type, in the first bytes of `to`. invalid_argument naming the parameter: an integer
// that the type cannot hold; a number for a pointer or a struct; a number with a fraction for an integer.
void store_integer(std::uint64_t& to, const ArgumentSlot& slot, std::int64_t value, const Entry& entry,
                   std::size_t index);
void store_floating(std::uint64_t& to, const ArgumentSlot& slot, double value, const Entry& entry,
                    std::size_t index);

inline constexpr std::uint32_t kDefaultBlock = 256;

// As many blocks of `block` threads as give each element one. No elements: one block, whose threads find
// nothing to do. More than a grid can have: invalid_argument.
device::Dim3 grid_for(std::int64_t elements, const device::Dim3& block, const device::LaunchLimits& limits);
// Which integer argument says how many elements there are: the one called so, or the only one.
std::optional<std::size_t> element_count_slot(std::span<const ArgumentSlot> slots);

}  // namespace gpuforge::jit
