#include "gpuforge/ops/registry.h"

#include <gtest/gtest.h>

namespace gpuforge::ops {
namespace {

// Fewer would leave a tuner nothing to find.
TEST(Registry, EveryOpDeclaresAtLeastTwentyConfigurations) {
  device::DeviceFacts facts;
  facts.multiprocessors = 132;
  for (const lab::Op& op : all_ops()) {
    for (const DType dtype : {DType::f16, DType::bf16, DType::f32}) {
      const lab::Problem problem = lab::complete(op, {.shape = {4096, 4096}, .dtype = dtype});
      EXPECT_GE(op.configs(problem, "best", facts).size(), 20u) << op.name << " of " << name(dtype);
    }
  }
}

}  // namespace
}  // namespace gpuforge::ops
