// An output against what it should be.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "gpuforge/lab/op.h"

namespace gpuforge::lab {

struct Comparison {
  std::size_t elements = 0;
  std::size_t wrong = 0;  // outside of the elementwise tolerance
  // The element furthest outside (or nearest to the edge, when all are inside).
  std::size_t worst = 0;
  double got = 0;
  double want = 0;
  double allowed = 0;      // what its error may be
  double worst_ratio = 0;  // its error over that; infinite where nothing finite would do
  double norm_error = 0;   // norm(got - want) over norm(magnitudes), of the finite elements
  double norm_allowed = 0;
  bool norm_exceeded = false;
  bool good() const { return wrong == 0 && !norm_exceeded; }
};

// `got` holds the output's elements as they are in memory, row-major. NaN must be NaN, an infinity the same
// infinity; where the tolerance reaches past the largest finite value, the infinity will do. A tolerance of
// zero compares values as the dtype rounds them.
Comparison compare(const Expected& expected, std::span<const std::byte> got, DType dtype,
                   const Tolerance& tolerance);
// For each element whether compare() counts it as wrong.
std::vector<bool> wrong_elements(const Expected& expected, std::span<const std::byte> got, DType dtype,
                                 const Tolerance& tolerance);

}  // namespace gpuforge::lab
