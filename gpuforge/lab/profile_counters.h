// The simulator's counts of a launch, each with the metric of ncu that counts the same on a GPU, and when the
// two must agree. The simulator runs PTX and a GPU the machine code that ptxas makes of it: bytes and sectors
// are decided by the addresses, so they agree; the number of instructions is ptxas's choice (it unrolls,
// predicates and reorders), so it does not. Requests and wavefronts are counts of memory instructions, which
// ptxas keeps, unless lanes of a warp part: then it decides how often each piece runs.
#pragma once

#include <span>
#include <string_view>

#include "gpuforge/sim/report.h"

namespace gpuforge::lab {

enum class Agreement {
  always,         // decided by the addresses
  while_uniform,  // when no branch of the launch diverged
  cold_caches,    // with caches flushed before the launch, as ncu does, and from kColdBytes on
  never,          // shown for the reader alone
};
std::string_view name(Agreement agreement);
inline constexpr double kColdBytes = 1 << 20;
inline constexpr double kAgreementTolerance = 0.05;

struct ProfileCounter {
  std::string_view name;  // "global_load_sectors"
  std::string_view ncu;   // its metric
  Agreement agreement = Agreement::never;
  double (*count)(const sim::LaunchReport&) = nullptr;
};
std::span<const ProfileCounter> profile_counters();

// Whether this launch's count must be ncu's within kAgreementTolerance.
bool must_agree(const ProfileCounter& counter, const sim::LaunchReport& report);

}  // namespace gpuforge::lab
