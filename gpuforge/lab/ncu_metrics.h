// Which of ncu's some two thousand metrics are shown, in which groups, and under which names they go by in
// its versions. Data alone.
#pragma once

#include <array>
#include <span>
#include <string_view>

namespace gpuforge::lab {

inline constexpr std::string_view kGroupLaunch = "launch";
inline constexpr std::string_view kGroupThroughput = "GPU throughput";
inline constexpr std::string_view kGroupPipes = "pipe utilisation";
inline constexpr std::string_view kGroupStalls = "warp stalls";
inline constexpr std::string_view kGroupMemory = "memory";

// `names`: the first that a report has is taken. "a / b" is one metric over another. In the names of a warp
// stall, * stands for `reason`.
struct NcuMetric {
  std::string_view group;
  std::string_view label;
  std::array<std::string_view, 3> names;  // those not needed are empty
  std::string_view reason = {};
};

std::span<const NcuMetric> ncu_metrics();

}  // namespace gpuforge::lab
