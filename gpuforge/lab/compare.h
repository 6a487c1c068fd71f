// An output against what it should be.
#pragma once

#include <cstddef>
#include <span>

#include "gpuforge/lab/op.h"

namespace gpuforge::lab {

struct Comparison {
  std::size_t elements = 0;
  std::size_t wrong = 0;  // outside of the elementwise tolerance
  // The element furthest outside (or nearest to the edge, when all are inside).
  std::size_t worst = 0;
  double got = 0;
  double want = 0;
  double worst_ratio = 0;  // its error over what was allowed; infinite where nothing finite would do
  double norm_error = 0;   // norm(got - want) over norm(magnitudes), of the finite elements
  bool norm_exceeded = false;
  bool good() const { return wrong == 0 && !norm_exceeded; }
};

// `got` holds the output's elements as they are in memory, row-major. NaN must be NaN, an infinity the same
// infinity; what rounds to an infinity of the dtype may be that or the largest finite value's side of it. A
// tolerance of zero compares values as the dtype rounds them.
Comparison compare(const Expected& expected, std::span<const std::byte> got, DType dtype,
                   const Tolerance& tolerance);

}  // namespace gpuforge::lab
