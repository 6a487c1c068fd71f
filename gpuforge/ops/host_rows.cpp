#include "gpuforge/ops/host_rows.h"

#include <algorithm>
#include <array>

#include "gpuforge/base/convert.h"
#include "gpuforge/base/parallel.h"

namespace gpuforge::ops {
namespace {

constexpr std::size_t kPiece = 256;  // elements gathered at a time

// Elements only move: two or four bytes of them.
template <typename Bits>
void gather(std::byte* to, const std::byte* from, std::int64_t stride, std::size_t count) {
  auto* const out = reinterpret_cast<Bits*>(to);
  const auto* const in = reinterpret_cast<const Bits*>(from);
  for (std::size_t i = 0; i < count; ++i) out[i] = in[static_cast<std::int64_t>(i) * stride];
}
template <typename Bits>
void scatter(std::byte* to, std::int64_t stride, const std::byte* from, std::size_t count) {
  auto* const out = reinterpret_cast<Bits*>(to);
  const auto* const in = reinterpret_cast<const Bits*>(from);
  for (std::size_t i = 0; i < count; ++i) out[static_cast<std::int64_t>(i) * stride] = in[i];
}

// Where the element lies; `bytes` of each.
std::byte* element(const Rows& rows, const HostRows& array, std::int64_t row, std::size_t at) {
  const std::int64_t offset = row_offset(rows, array.array, row) +
                              static_cast<std::int64_t>(at) * rows.arrays[array.array].axis_stride;
  return array.first + offset * static_cast<std::int64_t>(element_bytes(array.dtype));
}

}  // namespace

void load_row(std::span<float> to, const Rows& rows, const HostRows& from, std::int64_t row) {
  if (rows.unit_rows(from.array)) {
    return convert_elements(to.data(), DType::f32, element(rows, from, row, 0), from.dtype, to.size());
  }
  alignas(4) std::array<std::byte, 4 * kPiece> piece;
  const std::int64_t stride = rows.arrays[from.array].axis_stride;
  for (std::size_t at = 0; at < to.size(); at += kPiece) {
    const std::size_t count = std::min(kPiece, to.size() - at);
    const std::byte* const first = element(rows, from, row, at);
    if (element_bytes(from.dtype) == 2) {
      gather<std::uint16_t>(piece.data(), first, stride, count);
    } else {
      gather<std::uint32_t>(piece.data(), first, stride, count);
    }
    convert_elements(to.data() + at, DType::f32, piece.data(), from.dtype, count);
  }
}

void store_row(const Rows& rows, const HostRows& to, std::int64_t row, std::span<const float> from) {
  if (rows.unit_rows(to.array)) {
    return convert_elements(element(rows, to, row, 0), to.dtype, from.data(), DType::f32, from.size());
  }
  alignas(4) std::array<std::byte, 4 * kPiece> piece;
  const std::int64_t stride = rows.arrays[to.array].axis_stride;
  for (std::size_t at = 0; at < from.size(); at += kPiece) {
    const std::size_t count = std::min(kPiece, from.size() - at);
    convert_elements(piece.data(), to.dtype, from.data() + at, DType::f32, count);
    if (element_bytes(to.dtype) == 2) {
      scatter<std::uint16_t>(element(rows, to, row, at), stride, piece.data(), count);
    } else {
      scatter<std::uint32_t>(element(rows, to, row, at), stride, piece.data(), count);
    }
  }
}

void round_to(std::span<float> values, DType dtype) {
  std::array<std::byte, 4 * kPiece> piece;
  for (std::size_t at = 0; at < values.size(); at += kPiece) {
    const std::size_t count = std::min(kPiece, values.size() - at);
    convert_elements(piece.data(), dtype, values.data() + at, DType::f32, count);
    convert_elements(values.data() + at, DType::f32, piece.data(), dtype, count);
  }
}

void for_rows(const Rows& rows, const std::function<void(std::int64_t begin, std::int64_t end)>& work) {
  constexpr std::int64_t kWorthAThread = std::int64_t{1} << 14;  // elements
  const std::int64_t grain =
      std::max<std::int64_t>(1, kWorthAThread / std::max<std::int64_t>(rows.length, 1));
  parallel_ranges(rows.count, grain, work);
}

}  // namespace gpuforge::ops
