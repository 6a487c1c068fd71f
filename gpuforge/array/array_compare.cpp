#include <cmath>
#include <cstring>

#include "gpuforge/array/array.h"
#include "gpuforge/base/convert.h"

namespace gpuforge {
namespace {

constexpr std::int64_t kPieceElements = std::int64_t{1} << 18;

// Calls f(piece of a, piece of b) until it says false, over the whole arrays in pieces of bounded size.
template <typename F>
bool every_piece(const Array& a, const Array& b, const F& f) {
  const std::int64_t size = a.size();
  if (size <= kPieceElements) return f(a, b);
  // Extents of one would recurse without getting smaller.
  std::size_t axis = 0;
  while (a.shape()[axis] == 1) ++axis;
  const auto at = static_cast<std::int64_t>(axis);
  const std::int64_t extent = a.shape()[axis];
  const std::int64_t taken = std::max<std::int64_t>(1, kPieceElements / (size / extent));
  for (std::int64_t start = 0; start < extent; start += taken) {
    const Slice range{start, std::min(start + taken, extent), 1};
    if (!every_piece(a.slice(at, range), b.slice(at, range), f)) return false;
  }
  return true;
}

void check_places(const Array& a, const Array& b, device::Stream& stream, const char* who) {
  GPUFORGE_CHECK(
      &a.device() == &stream.device() && &b.device() == &stream.device(),
      "{}: arrays on {} and {} cannot be compared on a stream of {}; bring them together with to_host and "
      "from_host",
      who, a.device().facts().name, b.device().facts().name, stream.device().facts().name);
}

std::vector<std::byte> fetch(const Array& array, device::Stream& stream) {
  std::vector<std::byte> bytes(array.bytes());
  array.to_host(bytes, stream);
  return bytes;
}

template <typename T>
std::vector<T> fetch_as(const Array& array, device::Stream& stream) {
  const std::vector<std::byte> bytes = fetch(array, stream);
  std::vector<T> values(static_cast<std::size_t>(array.size()));
  convert_elements(values.data(), dtype_of<T>(), bytes.data(), array.dtype(), values.size());
  return values;
}

// A double near an integer of 64 bits may round to it without being it.
bool same_value(std::int64_t a, double b) {
  return b >= -0x1p63 && b < 0x1p63 && std::trunc(b) == b && static_cast<std::int64_t>(b) == a;
}

bool equal_piece(const Array& a, const Array& b, device::Stream& stream) {
  if (a.dtype() == b.dtype() && is_integer(a.dtype())) return fetch(a, stream) == fetch(b, stream);
  const bool float_a = is_floating(a.dtype());
  const bool float_b = is_floating(b.dtype());
  if (!float_a && !float_b) return fetch_as<std::int64_t>(a, stream) == fetch_as<std::int64_t>(b, stream);
  if (float_a && float_b) return fetch_as<double>(a, stream) == fetch_as<double>(b, stream);
  const std::vector<std::int64_t> whole = fetch_as<std::int64_t>(float_a ? b : a, stream);
  const std::vector<double> real = fetch_as<double>(float_a ? a : b, stream);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    if (!same_value(whole[i], real[i])) return false;
  }
  return true;
}

}  // namespace

bool equal(const Array& a, const Array& b, device::Stream& stream) {
  check_places(a, b, stream, "equal");
  if (a.shape() != b.shape()) return false;
  return every_piece(a, b, [&](const Array& x, const Array& y) { return equal_piece(x, y, stream); });
}

bool allclose(const Array& a, const Array& b, double rtol, double atol, bool equal_nan,
              device::Stream& stream) {
  check_places(a, b, stream, "allclose");
  GPUFORGE_CHECK(rtol >= 0 && atol >= 0,
                 "allclose: tolerances of at least zero were expected, not rtol {} and atol {}", rtol, atol);
  if (a.shape() != b.shape()) return false;
  return every_piece(a, b, [&](const Array& x, const Array& y) {
    const std::vector<double> left = fetch_as<double>(x, stream);
    const std::vector<double> right = fetch_as<double>(y, stream);
    for (std::size_t i = 0; i < left.size(); ++i) {
      if (left[i] == right[i]) continue;  // infinities too
      if (equal_nan && std::isnan(left[i]) && std::isnan(right[i])) continue;
      // An infinity is close to nothing else, though it would make the tolerance infinite.
      if (!std::isfinite(right[i]) || !(std::abs(left[i] - right[i]) <= atol + rtol * std::abs(right[i])))
        return false;
    }
    return true;
  });
}

}  // namespace gpuforge
