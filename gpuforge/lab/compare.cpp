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

// What went into the element, where that says something: a row with an infinity in it has no size, and must
// not make everything beside it allowed.
double magnitude_of(const Expected& expected, std::size_t i) {
  const double own = std::abs(expected.values[i]);
  if (expected.magnitudes.empty()) return own;
  return std::isfinite(expected.magnitudes[i]) ? expected.magnitudes[i] : own;
}

double allowed_error(const Expected& expected, std::size_t i, const Tolerance& tolerance) {
  const double computed = tolerance.absolute + tolerance.relative * magnitude_of(expected, i);
  const double allowed = computed + tolerance.rounding * (std::abs(expected.values[i]) + computed);
  return std::isfinite(allowed) ? allowed : 0;
}

// The error over what is allowed; over 1 is wrong.
double error_ratio(double got, double want, double allowed, DType dtype) {
  if (std::isnan(want)) return std::isnan(got) ? 0 : kInfinity;
  if (std::isnan(got)) return kInfinity;
  if (got == rounded(want, dtype)) return 0;
  if (std::isinf(want)) return kInfinity;
  if (std::isinf(got)) {
    // Near the largest finite value infinity is a rounding away, and nowhere else.
    return got == rounded(want + std::copysign(allowed, want), dtype) ? 1 : kInfinity;
  }
  const double error = std::abs(got - want);
  return allowed > 0 ? error / allowed : kInfinity;
}

void check_sizes(const Expected& expected, std::span<const std::byte> got, DType dtype) {
  GPUFORGE_ASSERT(got.size() == expected.values.size() * element_bytes(dtype),
                  "compare: {} bytes for {} elements of {}", got.size(), expected.values.size(), name(dtype));
  GPUFORGE_ASSERT(expected.magnitudes.empty() || expected.magnitudes.size() == expected.values.size(),
                  "compare: {} magnitudes for {} values", expected.magnitudes.size(), expected.values.size());
}

}  // namespace

Comparison compare(const Expected& expected, std::span<const std::byte> got, DType dtype,
                   const Tolerance& tolerance) {
  check_sizes(expected, got, dtype);
  const std::size_t bytes = element_bytes(dtype);
  Comparison result;
  result.elements = expected.values.size();
  double error_squares = 0;
  double magnitude_squares = 0;
  double value_squares = 0;
  double counted = 0;
  for (std::size_t i = 0; i < expected.values.size(); ++i) {
    const double value = load_double(got.data() + i * bytes, dtype);
    const double want = expected.values[i];
    const double allowed = allowed_error(expected, i, tolerance);
    const double ratio = error_ratio(value, want, allowed, dtype);
    result.wrong += ratio > 1;
    if (i == 0 || ratio > result.worst_ratio) {
      result.worst = i;
      result.worst_ratio = ratio;
      result.allowed = allowed;
      result.got = value;
      result.want = want;
    }
    if (std::isfinite(value) && std::isfinite(want)) {
      const double magnitude = magnitude_of(expected, i);
      error_squares += (value - want) * (value - want);
      magnitude_squares += magnitude * magnitude;
      value_squares += want * want;
      ++counted;
    }
  }
  if (magnitude_squares > 0 && std::isfinite(magnitude_squares)) {
    result.norm_error = std::sqrt(error_squares / magnitude_squares);
    if (tolerance.norm > 0) {
      // The rounding of each value, and of numbers at the end of the dtype's range their absolute errors.
      result.norm_allowed = tolerance.norm +
                            tolerance.rounding * std::sqrt(value_squares / magnitude_squares) +
                            tolerance.absolute * std::sqrt(counted / magnitude_squares);
      result.norm_exceeded = result.norm_error > result.norm_allowed;
    }
  }
  return result;
}

std::vector<bool> wrong_elements(const Expected& expected, std::span<const std::byte> got, DType dtype,
                                 const Tolerance& tolerance) {
  check_sizes(expected, got, dtype);
  std::vector<bool> wrong(expected.values.size());
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    const double value = load_double(got.data() + i * element_bytes(dtype), dtype);
    wrong[i] = error_ratio(value, expected.values[i], allowed_error(expected, i, tolerance), dtype) > 1;
  }
  return wrong;
}

}  // namespace gpuforge::lab
