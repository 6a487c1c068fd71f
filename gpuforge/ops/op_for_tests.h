// What every op must pass on every device: all of its check problems, dtypes, variants, contents and
// placements, against its reference. Included by the ops' tests alone.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "gpuforge/array/context_for_tests.h"
#include "gpuforge/lab/check_plan.h"
#include "gpuforge/ops/registry.h"

namespace gpuforge::ops {

class OpTest : public ArrayTest {
 protected:
  void expect_good(const lab::Op& op, const lab::CheckCase& which) {
    for (const std::string& complaint : lab::complaints(lab::check(op, which, context_))) {
      ADD_FAILURE() << op.name << " " << lab::to_string(which) << ": " << complaint;
    }
  }

  // What `gpuforge check OP` goes through.
  void expect_all_good(const lab::Op& op) {
    const lab::CheckPlan plan = lab::plan_checks(std::span(&op, 1), {}, context_->device().facts().kind);
    for (const lab::PlannedCase& planned : plan.cases) expect_good(op, planned.which);
  }
};

}  // namespace gpuforge::ops
