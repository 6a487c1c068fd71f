// Which sizes of blocks there are. Small requests are rounded up to a class, so that a freed block serves the
// next request of about its size; larger ones to whole units, which a range map (range_map.h) joins and
// splits at will.
//
// Waste inside a block: at most 1/9 of it (eight classes to a power of two), and a unit at the border of the
// two kinds. Below kUnwastefulBytes the alignment of 256 bytes, which every address has, is what decides.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace gpuforge::memory {

inline constexpr std::size_t kAlignmentBytes = 256;
inline constexpr std::size_t kUnitBytes = std::size_t{16} << 10;
inline constexpr std::size_t kLargestSmallBytes = std::size_t{128} << 10;
// From here on no block has more than a quarter that was not asked for.
inline constexpr std::size_t kUnwastefulBytes = 3 * kAlignmentBytes + 1;

// Of 1 to kLargestSmallBytes bytes.
constexpr unsigned size_class(std::size_t bytes) {
  const std::size_t steps = (bytes + kAlignmentBytes - 1) / kAlignmentBytes;  // 1 to 512
  if (steps <= 16) return static_cast<unsigned>(steps - 1);
  // The power of two below, and which eighth of it.
  const auto power = static_cast<unsigned>(std::bit_width(steps - 1) - 1);
  const auto eighth = static_cast<unsigned>((steps - 1) >> (power - 3)) & 7u;
  return 16 + (power - 4) * 8 + eighth;
}

constexpr std::size_t class_bytes(unsigned index) {
  if (index < 16) return (index + 1) * kAlignmentBytes;
  const unsigned power = (index - 16) / 8 + 4;
  const std::size_t eighths = 8 + (index - 16) % 8 + 1;
  return (eighths << (power - 3)) * kAlignmentBytes;
}

inline constexpr unsigned kSizeClasses = size_class(kLargestSmallBytes) + 1;
static_assert(class_bytes(kSizeClasses - 1) == kLargestSmallBytes);

// Of larger ones.
constexpr std::size_t unit_count(std::size_t bytes) {
  return bytes / kUnitBytes + (bytes % kUnitBytes == 0 ? 0 : 1);
}

// The block that a request gets.
constexpr std::size_t block_bytes(std::size_t bytes) {
  return bytes <= kLargestSmallBytes ? class_bytes(size_class(bytes)) : unit_count(bytes) * kUnitBytes;
}

// A slab is cut into blocks of one class. A few units for the smallest, so that a class that is hardly used
// costs little; at least eight blocks, so that the rest at its end is small.
constexpr std::size_t slab_units(unsigned index) {
  const std::size_t bytes = class_bytes(index) * 8;
  return bytes <= 4 * kUnitBytes ? 4 : unit_count(bytes);
}

}  // namespace gpuforge::memory
