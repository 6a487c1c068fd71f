// The elements an array argument starts with, made piece by piece so that a large array needs no second copy
// on the host, and what the elements of an output say about the kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "cli/launch_argument.h"

namespace gpuforge::cli {

// Elements `first`, `first`+1, ... of the argument into `out` (a whole number of elements). The same seed and
// index give the same element on every machine. random: floats in [0, 1), integers 0 to 99, bools either;
// normal: mean 0, deviation 1; arange: 0, 1, 2, ... (invalid_argument when an integer type cannot hold the
// last).
void fill_elements(const LaunchArgument& argument, std::uint64_t seed, std::int64_t first,
                   std::span<std::byte> out);

// What an output holds before the launch: a NaN no arithmetic makes, or 0xA5 bytes for integers.
struct Poison {
  std::uint32_t pattern = 0;
  std::size_t pattern_bytes = 1;  // 1, 2 or 4; repeated for wider elements
};
Poison poison(DType dtype);

// Reads an output in pieces and tells what was never written. A single element counts when its four bytes (or
// more) are the poison, which a kernel hits by chance once in 2^32; narrower ones count in runs of four
// bytes, or when all of the array is so. A bool is never 0xA5.
class OutputScan {
 public:
  explicit OutputScan(DType dtype) : dtype_(dtype) {}
  void add(std::span<const std::byte> elements);  // the next ones
  std::int64_t elements() const { return elements_; }
  std::int64_t unwritten() const;
  std::int64_t first_unwritten() const { return first_; }  // meaningful when unwritten() > 0
  bool all_zero() const { return elements_ > 0 && !nonzero_; }

 private:
  template <typename Word>
  void scan(std::span<const std::byte> elements);
  DType dtype_;
  std::int64_t elements_ = 0;
  std::int64_t poisoned_ = 0;  // all that match, short runs too
  std::int64_t counted_ = 0;
  std::int64_t run_ = 0;
  std::int64_t first_ = -1;
  bool nonzero_ = false;
};

}  // namespace gpuforge::cli
