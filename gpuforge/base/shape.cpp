#include "gpuforge/base/shape.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <vector>

#include "gpuforge/base/error.h"

namespace gpuforge {
namespace {

std::int64_t checked_multiply(std::int64_t a, std::int64_t b, const Dims& shape) {
  std::int64_t product = 0;
  GPUFORGE_CHECK(!__builtin_mul_overflow(a, b, &product),
                 "shape: {} is too large, its sizes must stay below 2^63 elements", to_string(shape));
  return product;
}

std::uint64_t magnitude(std::int64_t value) {
  return value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
}

void check_same_rank(const Shape& shape, const Strides& strides) {
  GPUFORGE_CHECK(shape.size() == strides.size(), "shape: {} needs as many strides, found {}",
                 to_string(shape), to_string(strides));
}

}  // namespace

Dims::Dims(std::span<const std::int64_t> values) {
  GPUFORGE_CHECK(values.size() <= kMaxRank, "shape: at most {} dimensions are supported, found {}", kMaxRank,
                 values.size());
  std::copy(values.begin(), values.end(), values_.begin());
  rank_ = values.size();
}

Dims Dims::filled(std::size_t rank, std::int64_t value) {
  GPUFORGE_CHECK(rank <= kMaxRank, "shape: at most {} dimensions are supported, found {}", kMaxRank, rank);
  Dims dims;
  dims.rank_ = rank;
  std::fill(dims.begin(), dims.end(), value);
  return dims;
}

void Dims::push_back(std::int64_t value) {
  GPUFORGE_CHECK(rank_ < kMaxRank, "shape: at most {} dimensions are supported, found {}", kMaxRank,
                 rank_ + 1);
  values_[rank_++] = value;
}

void Dims::insert(std::size_t at, std::int64_t value) {
  GPUFORGE_CHECK(rank_ < kMaxRank, "shape: at most {} dimensions are supported, found {}", kMaxRank,
                 rank_ + 1);
  GPUFORGE_CHECK(at <= rank_, "shape: cannot insert at position {} of {} dimensions", at, rank_);
  std::copy_backward(begin() + at, end(), end() + 1);
  values_[at] = value;
  ++rank_;
}

void Dims::erase(std::size_t at) {
  GPUFORGE_CHECK(at < rank_, "shape: cannot erase position {} of {} dimensions", at, rank_);
  std::copy(begin() + at + 1, end(), begin() + at);
  --rank_;
  values_[rank_] = 0;
}

bool operator==(const Dims& a, const Dims& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

std::string to_string(const Dims& dims) {
  std::string text = "[";
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(dims[i]);
  }
  return text + "]";
}

std::int64_t element_count(const Shape& shape) {
  bool empty = false;
  for (std::int64_t extent : shape) {
    GPUFORGE_CHECK(extent >= 0, "shape: sizes must not be negative, found {}", to_string(shape));
    empty = empty || extent == 0;
  }
  if (empty) return 0;
  std::int64_t count = 1;
  for (std::int64_t extent : shape) count = checked_multiply(count, extent, shape);
  return count;
}

Strides row_major_strides(const Shape& shape) {
  Strides strides = Dims::filled(shape.size(), 1);
  std::int64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    GPUFORGE_CHECK(shape[i] >= 0, "shape: sizes must not be negative, found {}", to_string(shape));
    strides[i] = stride;
    // A zero extent counts as one, as in NumPy: the strides of an empty array still tell its dimensions
    // apart.
    stride = checked_multiply(stride, std::max<std::int64_t>(shape[i], 1), shape);
  }
  return strides;
}

bool is_contiguous(const Shape& shape, const Strides& strides) {
  check_same_rank(shape, strides);
  if (element_count(shape) == 0) return true;
  std::int64_t expected = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    if (shape[i] == 1) continue;
    if (strides[i] != expected) return false;
    expected *= shape[i];  // cannot overflow: element_count was checked
  }
  return true;
}

OffsetRange offset_range(const Shape& shape, const Strides& strides) {
  check_same_rank(shape, strides);
  if (element_count(shape) == 0) return {0, -1};
  OffsetRange range{0, 0};
  for (std::size_t i = 0; i < shape.size(); ++i) {
    std::int64_t reach = 0;
    std::int64_t& end = strides[i] < 0 ? range.lowest : range.highest;
    const bool overflow =
        __builtin_mul_overflow(shape[i] - 1, strides[i], &reach) || __builtin_add_overflow(end, reach, &end);
    GPUFORGE_CHECK(!overflow, "shape: {} with strides {} reaches past 2^63 elements", to_string(shape),
                   to_string(strides));
  }
  return range;
}

namespace {

struct Step {
  std::uint64_t extent;
  std::uint64_t stride;
};

// Sum of (extent - 1) * stride, or the largest value when it does not fit.
std::uint64_t reach_of(std::span<const Step> steps) {
  std::uint64_t reach = 0;
  for (const Step& step : steps) {
    std::uint64_t part = 0;
    if (__builtin_mul_overflow(step.extent - 1, step.stride, &part) ||
        __builtin_add_overflow(reach, part, &reach)) {
      return std::numeric_limits<std::uint64_t>::max();
    }
  }
  return reach;
}

bool enumeration_finds_overlap(std::span<const Step> steps, std::uint64_t count) {
  std::vector<std::uint64_t> offsets = {0};
  offsets.reserve(count);
  for (const Step& step : steps) {
    const std::size_t before = offsets.size();
    for (std::uint64_t i = 1; i < step.extent; ++i) {
      for (std::size_t j = 0; j < before; ++j) offsets.push_back(offsets[j] + i * step.stride);
    }
  }
  std::sort(offsets.begin(), offsets.end());
  return std::adjacent_find(offsets.begin(), offsets.end()) != offsets.end();
}

}  // namespace

bool may_overlap_itself(const Shape& shape, const Strides& strides) {
  check_same_rank(shape, strides);
  if (element_count(shape) <= 1) return false;
  // Signs only mirror a dimension, so magnitudes decide. By rising stride: innermost first is mostly that.
  std::array<Step, kMaxRank> sorted;
  std::size_t rank = 0;
  for (std::size_t i = shape.size(); i-- > 0;) {
    if (shape[i] == 1) continue;
    if (strides[i] == 0) return true;
    const Step step{static_cast<std::uint64_t>(shape[i]), magnitude(strides[i])};
    std::size_t at = rank++;
    for (; at > 0 && sorted[at - 1].stride > step.stride; --at) sorted[at] = sorted[at - 1];
    sorted[at] = step;
  }
  std::span<const Step> steps = std::span(sorted).first(rank);
  // A stride beyond everything the smaller ones reach keeps its slices apart and has no part in an overlap.
  while (steps.size() > 1 && steps.back().stride > reach_of(steps.first(steps.size() - 1))) {
    steps = steps.first(steps.size() - 1);
  }
  if (steps.size() == 1) return false;
  if (steps.size() == 2) {
    // Two dimensions first meet where i * a == j * b: at i = b / gcd, j = a / gcd.
    const std::uint64_t divisor = std::gcd(steps[0].stride, steps[1].stride);
    return steps[1].stride / divisor < steps[0].extent && steps[0].stride / divisor < steps[1].extent;
  }

  std::uint64_t count = 1;
  for (const Step& step : steps) count *= step.extent;  // at most element_count
  const std::uint64_t reach = reach_of(steps);
  if (count - 1 > reach) return true;  // more elements than places
  constexpr std::uint64_t kEnumerationLimit = 1 << 16;
  if (reach == std::numeric_limits<std::uint64_t>::max() || count > kEnumerationLimit) return true;
  return enumeration_finds_overlap(steps, count);
}

std::size_t normalize_axis(std::int64_t axis, std::size_t rank, const char* who) {
  const auto signed_rank = static_cast<std::int64_t>(rank);
  GPUFORGE_CHECK(axis >= -signed_rank && axis < signed_rank, "{}: axis {} is out of range for {} dimensions",
                 who, axis, rank);
  return static_cast<std::size_t>(axis < 0 ? axis + signed_rank : axis);
}

Shape broadcast_shapes(const Shape& a, const Shape& b) {
  const std::size_t rank = std::max(a.size(), b.size());
  Shape result = Dims::filled(rank, 1);
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t from_a = i < rank - a.size() ? 1 : a[i - (rank - a.size())];
    const std::int64_t from_b = i < rank - b.size() ? 1 : b[i - (rank - b.size())];
    GPUFORGE_CHECK(from_a == from_b || from_a == 1 || from_b == 1,
                   "shape: {} and {} do not broadcast together", to_string(a), to_string(b));
    result[i] = from_a == 1 ? from_b : from_a;
  }
  element_count(result);  // refuses sizes that are negative or too many
  return result;
}

Strides broadcast_strides(const Shape& from, const Strides& strides, const Shape& to) {
  check_same_rank(from, strides);
  GPUFORGE_CHECK(to.size() >= from.size(), "shape: {} cannot be broadcast to {}, which has fewer dimensions",
                 to_string(from), to_string(to));
  element_count(to);  // refuses sizes that are negative or too many
  const std::size_t extra = to.size() - from.size();
  Strides result = Dims::filled(to.size(), 0);
  for (std::size_t i = 0; i < from.size(); ++i) {
    GPUFORGE_CHECK(from[i] == to[extra + i] || from[i] == 1, "shape: {} cannot be broadcast to {}",
                   to_string(from), to_string(to));
    result[extra + i] = from[i] == to[extra + i] ? strides[i] : 0;
  }
  return result;
}

Shape resolve_reshape(const Shape& from, const Shape& to) {
  const std::int64_t count = element_count(from);
  Shape result = to;
  std::optional<std::size_t> unknown;
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (to[i] != -1) continue;
    GPUFORGE_CHECK(!unknown, "reshape: only one size may be -1, found {}", to_string(to));
    unknown = i;
    result[i] = 1;
  }
  const std::int64_t known = element_count(result);
  if (unknown) {
    GPUFORGE_CHECK(known != 0, "reshape: the -1 in {} has no single answer beside a size of 0",
                   to_string(to));
    GPUFORGE_CHECK(count % known == 0, "reshape: {} has {} elements, which {} cannot hold", to_string(from),
                   count, to_string(to));
    result[*unknown] = count / known;
  } else {
    GPUFORGE_CHECK(known == count, "reshape: {} has {} elements, but {} has {}", to_string(from), count,
                   to_string(to), known);
  }
  return result;
}

std::optional<Strides> reshape_strides(const Shape& from, const Strides& strides, const Shape& to) {
  check_same_rank(from, strides);
  const std::int64_t count = element_count(from);
  GPUFORGE_CHECK(count == element_count(to), "reshape: {} and {} differ in their number of elements",
                 to_string(from), to_string(to));
  if (count == 0) return row_major_strides(to);

  // Extents of one say nothing about the memory.
  Shape old_shape;
  Strides old_strides;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (from[i] == 1) continue;
    old_shape.push_back(from[i]);
    old_strides.push_back(strides[i]);
  }

  // Walks both shapes in the smallest groups of equal product; each old group must be one run of memory.
  Strides result = Dims::filled(to.size(), 1);
  std::size_t old_begin = 0;
  std::size_t new_begin = 0;
  while (old_begin < old_shape.size()) {
    std::size_t old_end = old_begin + 1;
    std::size_t new_end = new_begin + 1;
    std::int64_t old_product = old_shape[old_begin];
    std::int64_t new_product = to[new_begin];
    while (old_product != new_product) {
      if (old_product < new_product) {
        old_product *= old_shape[old_end++];
      } else {
        new_product *= to[new_end++];
      }
    }
    for (std::size_t i = old_begin; i + 1 < old_end; ++i) {
      std::int64_t run = 0;
      if (__builtin_mul_overflow(old_shape[i + 1], old_strides[i + 1], &run) || old_strides[i] != run) {
        return std::nullopt;
      }
    }
    std::int64_t stride = old_strides[old_end - 1];
    for (std::size_t i = new_end; i-- > new_begin;) {
      result[i] = stride;
      // Past the outermost extent the value is not used, so an overflow there is harmless.
      if (__builtin_mul_overflow(stride, to[i], &stride)) stride = 0;
    }
    old_begin = old_end;
    new_begin = new_end;
  }
  return result;
}

}  // namespace gpuforge
