// What `gpuforge check` shows: a line for each op, variant and dtype, failures in full, and JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpuforge/base/json.h"
#include "gpuforge/lab/check_plan.h"

namespace gpuforge::cli {

// Cases of one op, variant and dtype.
struct CheckGroup {
  std::string op;
  std::string variant;
  DType dtype = DType::f32;
  std::size_t cases = 0;
  std::size_t failed = 0;
  double worst = 0;  // error over what is allowed
  double seconds = 0;

  static CheckGroup of(const lab::PlannedCase& planned);
  bool takes(const lab::PlannedCase& planned) const;
  void add(const lab::CaseResult& result);
};

// Lines under each other whose columns are known before the first case has run.
class CheckTable {
 public:
  CheckTable(const lab::CheckPlan& plan, int columns);
  std::string heading() const;
  std::string line(const CheckGroup& group) const;

 private:
  std::string row(std::string_view op, std::string_view variant, std::string_view dtype,
                  std::string_view cases, std::string_view failed, std::string_view worst,
                  std::string_view time) const;
  std::size_t op_ = 2;
  std::size_t variant_ = 7;
  bool narrow_ = false;
};

// All failures, those that say most first: one of each group, then another of each. Of a group random inputs
// before hard ones, plain arrays before views, and larger outputs before smaller ones.
std::vector<const lab::CaseResult*> telling_failures(std::span<const lab::CaseResult> results);

// The case, all that is wrong with it, a map of where, and the command that repeats it, which ends in
// `where`: " --device sim".
std::string failure_text(const lab::CaseResult& result, std::uint64_t seed, std::string_view where,
                         int columns);

Json case_json(const lab::CaseResult& result);
Json group_json(const CheckGroup& group);

}  // namespace gpuforge::cli
