// What every op must pass on every device: all of its check problems, dtypes, variants, contents and
// placements, against its reference. Included by the ops' tests alone.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "gpuforge/array/context_for_tests.h"
#include "gpuforge/lab/check.h"
#include "gpuforge/ops/registry.h"

namespace gpuforge::ops {

class OpTest : public ArrayTest {
 protected:
  void expect_good(const lab::Op& op, const lab::CheckCase& which) {
    const lab::CheckReport report = lab::check(op, which, context_);
    for (const std::string& fault : report.faults) ADD_FAILURE() << where(op, which) << ": " << fault;
    for (const lab::OutputReport& output : report.outputs) {
      const lab::Comparison& c = output.comparison;
      EXPECT_TRUE(c.good()) << where(op, which) << ": " << output.name << " has " << c.wrong << " wrong of "
                            << c.elements << ", worst at " << c.worst << ": got " << c.got << ", want "
                            << c.want << " (" << c.worst_ratio << " of what is allowed, norm " << c.norm_error
                            << ")";
    }
  }

  static std::string where(const lab::Op& op, const lab::CheckCase& which) {
    return format_text("{} {} {} {} {}", op.name, which.variant, to_string(which.problem),
                       lab::name(which.contents), lab::name(which.placement));
  }

  // Every problem in every dtype and variant with random contents; then every hard content and placement on
  // the problems of moderate size.
  void expect_all_good(const lab::Op& op) {
    for (lab::Problem problem : op.check_problems) {
      for (const DType dtype : op.dtypes) {
        problem.dtype = dtype;
        const lab::Problem complete = lab::complete(op, problem);
        for (const lab::Variant& variant : op.variants) {
          expect_good(op, {.problem = complete, .variant = variant.name});
          if (element_count(problem.shape) > 4096) continue;
          for (const lab::Contents contents : op.hard_contents) {
            expect_good(op, {.problem = complete, .variant = variant.name, .contents = contents});
          }
          if (!op.accepts_strides) continue;
          for (const lab::Placement placement :
               {lab::Placement::transposed, lab::Placement::spread, lab::Placement::shifted}) {
            expect_good(op, {.problem = complete, .variant = variant.name, .placement = placement});
          }
        }
      }
    }
  }
};

}  // namespace gpuforge::ops
