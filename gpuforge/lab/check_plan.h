// Which cases `check` goes through, and going through them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gpuforge/lab/check.h"

namespace gpuforge::lab {

// What is asked for; an empty list means all there are.
struct CheckRequest {
  std::vector<std::string> variants;
  std::vector<DType> dtypes;
  std::vector<Shape> shapes;  // instead of the op's own problems
  Options options;            // for every problem, instead of what it says
  std::vector<Contents> contents;
  std::vector<Placement> placements;
  std::uint64_t seed = 1;
  bool quick = false;  // a few small problems in each dtype and variant
};

struct PlannedCase {
  const Op* op = nullptr;
  CheckCase which;
};

struct CheckPlan {
  std::vector<PlannedCase> cases;     // by op, variant, dtype; the order never changes
  std::vector<std::string> left_out;  // ops that have nothing of what was asked for: a sentence each
  std::size_t too_large = 0;          // cases that were not taken since the device is the simulator
};

// Every problem in every dtype and variant with normal contents; then, on problems of moderate size, every
// hard content and placement the op has. Each case has a seed of its own, which comes from the request's and
// from what the case is: the same case has the same inputs in every plan. On `sim` the op's own problems of
// over kSimElements elements are left to devices that are faster. What none of the ops has (a variant, a
// dtype, an option, a shape) is an invalid_argument; what only some have leaves the others out. The ops must
// outlive the plan.
CheckPlan plan_checks(std::span<const Op> ops, const CheckRequest& request, device::DeviceKind device);
inline constexpr std::int64_t kModerateElements = 4096;
inline constexpr std::int64_t kSimElements = std::int64_t{1} << 18;

struct CaseResult {
  PlannedCase planned;
  CheckReport report;
  double seconds = 0;
};

// Runs one case: check() in this process, or something that survives what the kernel does to the device.
using CaseRunner = std::function<CheckReport(const Op& op, const CheckCase& which)>;
// `done` is told after every case. After a fault that loses the device the remaining cases are not run, and
// their reports say so.
std::vector<CaseResult> run_checks(const CheckPlan& plan, const CaseRunner& run,
                                   const std::function<void(const CaseResult&)>& done = {});

}  // namespace gpuforge::lab
