// Shapes and strides: small integer tuples without heap memory, and the arithmetic every array needs.
// Strides count elements, not bytes, and may be zero or negative.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>

namespace gpuforge {

inline constexpr std::size_t kMaxRank = 16;

// Up to kMaxRank integers by value. Used for shapes, strides, permutations and coordinates.
class Dims {
 public:
  Dims() = default;
  Dims(std::initializer_list<std::int64_t> values) : Dims(std::span(values.begin(), values.size())) {}
  explicit Dims(std::span<const std::int64_t> values);  // more than kMaxRank: invalid_argument
  static Dims filled(std::size_t rank, std::int64_t value);

  std::size_t size() const { return rank_; }
  bool empty() const { return rank_ == 0; }
  std::int64_t operator[](std::size_t i) const { return values_[i]; }
  std::int64_t& operator[](std::size_t i) { return values_[i]; }
  const std::int64_t* begin() const { return values_.data(); }
  const std::int64_t* end() const { return values_.data() + rank_; }
  std::int64_t* begin() { return values_.data(); }
  std::int64_t* end() { return values_.data() + rank_; }
  std::int64_t back() const { return values_[rank_ - 1]; }
  void push_back(std::int64_t value);
  void insert(std::size_t at, std::int64_t value);
  void erase(std::size_t at);
  friend bool operator==(const Dims& a, const Dims& b);

 private:
  std::array<std::int64_t, kMaxRank> values_{};
  std::size_t rank_ = 0;
};

using Shape = Dims;
using Strides = Dims;

std::string to_string(const Dims& dims);  // "[4, 256]"

// Product of the extents; a negative extent or a product over 2^63-1 is an invalid_argument. Rank 0 has one.
std::int64_t element_count(const Shape& shape);
Strides row_major_strides(const Shape& shape);
// Row-major without gaps; extents of one and empty arrays do not count against it.
bool is_contiguous(const Shape& shape, const Strides& strides);
// Lowest and highest element offset reached; {0, -1} when empty.
struct OffsetRange {
  std::int64_t lowest;
  std::int64_t highest;
};
OffsetRange offset_range(const Shape& shape, const Strides& strides);
// True when two coordinates may reach one element (broadcast strides included). Exact but for views of over
// 2^16 elements whose strides interleave in three or more dimensions; never false when there is an overlap.
bool may_overlap_itself(const Shape& shape, const Strides& strides);
// -rank..rank-1 to 0..rank-1; otherwise invalid_argument naming `who`.
std::size_t normalize_axis(std::int64_t axis, std::size_t rank, const char* who);
// NumPy's rule; shapes that do not match are an invalid_argument naming both.
Shape broadcast_shapes(const Shape& a, const Shape& b);
// Strides that show `from` (with `strides`) as `to` (>= rank, broadcastable), or invalid_argument.
Strides broadcast_strides(const Shape& from, const Strides& strides, const Shape& to);
// Resolves one -1 in `to`; the element counts must agree.
Shape resolve_reshape(const Shape& from, const Shape& to);
// Strides of a reshaped view, or nothing when only a copy can have that shape.
std::optional<Strides> reshape_strides(const Shape& from, const Strides& strides, const Shape& to);

}  // namespace gpuforge
