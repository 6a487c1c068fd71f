// Rows of arrays on the host as floats: what the cpu implementations compute with. Not installed.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "gpuforge/ops/rows.h"

namespace gpuforge::ops {

// One array of a Rows, on the cpu device.
struct HostRows {
  std::byte* first = nullptr;
  DType dtype = DType::f32;
  std::size_t array = 0;  // its index in the Rows
};
inline HostRows host_rows(const Array& array, std::size_t index) {
  return {reinterpret_cast<std::byte*>(array.address()), array.dtype(), index};
}

void load_row(std::span<float> to, const Rows& rows, const HostRows& from, std::int64_t row);
// Rounded once.
void store_row(const Rows& rows, const HostRows& to, std::int64_t row, std::span<const float> from);
// What store_row would keep of them.
void round_to(std::span<float> values, DType dtype);

// Rows begin..end at a time on all threads, so many that a piece is worth a thread.
void for_rows(const Rows& rows, const std::function<void(std::int64_t begin, std::int64_t end)>& work);

// The sum of term(0), term(1), ... as several sums, so that they do not wait for each other and stay small
// for long rows.
template <typename Term>
float sum_in_lanes(std::size_t count, const Term& term) {
  constexpr std::size_t kLanes = 16;
  float sums[kLanes] = {};
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) sums[lane] += term(i + lane);
  }
  for (; i < count; ++i) sums[i % kLanes] += term(i);
  float sum = 0;
  for (const float lane : sums) sum += lane;
  return sum;
}

}  // namespace gpuforge::ops
