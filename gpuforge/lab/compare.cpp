#include "gpuforge/lab/compare.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

#include "gpuforge/base/convert.h"
#include "gpuforge/lab/host_bytes.h"

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

// The error over what is allowed; over 1 is wrong. `nearest` is `want` as the dtype rounds it.
double error_ratio(double got, double want, double nearest, double allowed, DType dtype) {
  if (std::isnan(want)) return std::isnan(got) ? 0 : kInfinity;
  if (std::isnan(got)) return kInfinity;
  if (got == nearest) return 0;
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

// One element, judged.
struct Judged {
  double got = 0;
  double want = 0;
  double allowed = 0;
  double ratio = 0;
};

// Calls use(block, i, judged) for every element, on all threads; block by block each in order.
template <typename Use>
void judge_elements(const Expected& expected, std::span<const std::byte> got, DType dtype,
                    const Tolerance& tolerance, const Use& use) {
  const std::size_t width = element_bytes(dtype);
  for_blocks(expected.values.size(), [&](std::size_t block, std::size_t begin, std::size_t end) {
    const std::size_t count = end - begin;
    std::vector<double> found(count);
    std::vector<double> nearest(count);
    std::vector<std::byte> stored(count * width);
    convert_elements(found.data(), DType::f64, got.data() + begin * width, dtype, count);
    convert_elements(stored.data(), dtype, expected.values.data() + begin, DType::f64, count);
    convert_elements(nearest.data(), DType::f64, stored.data(), dtype, count);
    for (std::size_t i = begin; i < end; ++i) {
      Judged one{.got = found[i - begin], .want = expected.values[i]};
      one.allowed = allowed_error(expected, i, tolerance);
      one.ratio = error_ratio(one.got, one.want, nearest[i - begin], one.allowed, dtype);
      use(block, i, one);
    }
  });
}

// What is known of one block.
struct Partial {
  std::size_t wrong = 0;
  std::size_t worst = 0;
  std::optional<Judged> worst_one;
  double error_squares = 0;
  double magnitude_squares = 0;
  double value_squares = 0;
  double counted = 0;
};

}  // namespace

Comparison compare(const Expected& expected, std::span<const std::byte> got, DType dtype,
                   const Tolerance& tolerance) {
  check_sizes(expected, got, dtype);
  std::vector<Partial> blocks(block_count(expected.values.size()));
  judge_elements(expected, got, dtype, tolerance, [&](std::size_t block, std::size_t i, const Judged& one) {
    Partial& part = blocks[block];
    part.wrong += one.ratio > 1;
    if (!part.worst_one || one.ratio > part.worst_one->ratio) {
      part.worst = i;
      part.worst_one = one;
    }
    if (std::isfinite(one.got) && std::isfinite(one.want)) {
      const double magnitude = magnitude_of(expected, i);
      part.error_squares += (one.got - one.want) * (one.got - one.want);
      part.magnitude_squares += magnitude * magnitude;
      part.value_squares += one.want * one.want;
      ++part.counted;
    }
  });
  Partial all;
  for (const Partial& part : blocks) {
    all.wrong += part.wrong;
    if (!all.worst_one || part.worst_one->ratio > all.worst_one->ratio) {
      all.worst = part.worst;
      all.worst_one = part.worst_one;
    }
    all.error_squares += part.error_squares;
    all.magnitude_squares += part.magnitude_squares;
    all.value_squares += part.value_squares;
    all.counted += part.counted;
  }
  Comparison result;
  result.elements = expected.values.size();
  result.wrong = all.wrong;
  if (all.worst_one) {
    result.worst = all.worst;
    result.worst_ratio = all.worst_one->ratio;
    result.allowed = all.worst_one->allowed;
    result.got = all.worst_one->got;
    result.want = all.worst_one->want;
  }
  if (all.magnitude_squares > 0 && std::isfinite(all.magnitude_squares)) {
    result.norm_error = std::sqrt(all.error_squares / all.magnitude_squares);
    if (tolerance.norm > 0) {
      // The rounding of each value, and of numbers at the end of the dtype's range their absolute errors.
      result.norm_allowed = tolerance.norm +
                            tolerance.rounding * std::sqrt(all.value_squares / all.magnitude_squares) +
                            tolerance.absolute * std::sqrt(all.counted / all.magnitude_squares);
      result.norm_exceeded = result.norm_error > result.norm_allowed;
    }
  }
  return result;
}

std::vector<bool> wrong_elements(const Expected& expected, std::span<const std::byte> got, DType dtype,
                                 const Tolerance& tolerance) {
  check_sizes(expected, got, dtype);
  std::vector<char> wrong(expected.values.size());  // threads write neighbours, which bits would not bear
  judge_elements(expected, got, dtype, tolerance,
                 [&](std::size_t, std::size_t i, const Judged& one) { wrong[i] = one.ratio > 1; });
  return {wrong.begin(), wrong.end()};
}

}  // namespace gpuforge::lab
