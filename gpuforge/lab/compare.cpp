#include "gpuforge/lab/compare.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include "gpuforge/base/convert.h"

namespace gpuforge::lab {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double rounded(double value, DType dtype) {
  std::uint64_t stored = 0;
  store_double(&stored, dtype, value);
  return load_double(&stored, dtype);
}

// The error over what is allowed; over 1 is wrong.
double error_ratio(double got, double want, double magnitude, DType dtype, const Tolerance& tolerance) {
  const double stored = rounded(want, dtype);
  if (std::isnan(want)) return std::isnan(got) ? 0 : kInfinity;
  if (std::isnan(got)) return kInfinity;
  if (got == stored) return 0;
  const double allowed = tolerance.absolute + tolerance.relative * magnitude;
  if (std::isinf(got) || std::isinf(stored)) {
    // Near the largest finite value either side of it is a rounding away, and nothing else is.
    if (std::isinf(want) || !std::isfinite(allowed)) return kInfinity;
    const double nearest = std::isinf(got) ? rounded(want + std::copysign(allowed, got), dtype)
                                           : rounded(want - std::copysign(allowed, want), dtype);
    return std::isinf(got) == std::isinf(nearest) && std::signbit(got) == std::signbit(want) ? 1 : kInfinity;
  }
  const double error = std::abs(got - want);
  return allowed > 0 ? error / allowed : kInfinity;
}

}  // namespace

Comparison compare(const Expected& expected, std::span<const std::byte> got, DType dtype,
                   const Tolerance& tolerance) {
  const std::size_t bytes = element_bytes(dtype);
  GPUFORGE_ASSERT(got.size() == expected.values.size() * bytes, "compare: {} bytes for {} elements of {}",
                  got.size(), expected.values.size(), name(dtype));
  GPUFORGE_ASSERT(expected.magnitudes.empty() || expected.magnitudes.size() == expected.values.size(),
                  "compare: {} magnitudes for {} values", expected.magnitudes.size(), expected.values.size());
  Comparison result;
  result.elements = expected.values.size();
  double error_squares = 0;
  double magnitude_squares = 0;
  double counted = 0;
  bool first = true;
  for (std::size_t i = 0; i < expected.values.size(); ++i) {
    const double value = load_double(got.data() + i * bytes, dtype);
    const double want = expected.values[i];
    const double magnitude = expected.magnitudes.empty() ? std::abs(want) : expected.magnitudes[i];
    const double ratio = error_ratio(value, want, magnitude, dtype, tolerance);
    result.wrong += ratio > 1;
    if (first || ratio > result.worst_ratio) {
      first = false;
      result.worst = i;
      result.worst_ratio = ratio;
      result.got = value;
      result.want = want;
    }
    if (std::isfinite(value) && std::isfinite(want) && std::isfinite(magnitude)) {
      error_squares += (value - want) * (value - want);
      magnitude_squares += magnitude * magnitude;
      ++counted;
    }
  }
  if (magnitude_squares > 0 && std::isfinite(magnitude_squares)) {
    result.norm_error = std::sqrt(error_squares / magnitude_squares);
    // Numbers at the end of the dtype's range are allowed their absolute errors together as well.
    const double allowed = tolerance.norm + tolerance.absolute * std::sqrt(counted / magnitude_squares);
    result.norm_exceeded = tolerance.norm > 0 && result.norm_error > allowed;
  }
  return result;
}

}  // namespace gpuforge::lab
