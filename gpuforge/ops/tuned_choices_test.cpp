#include "gpuforge/ops/tuned_choices.h"

#include <gtest/gtest.h>

#include "gpuforge/base/temporary_folder_for_tests.h"
#include "gpuforge/device/cpu_device.h"
#include "gpuforge/device/sim_device.h"
#include "gpuforge/lab/tuning_cache.h"
#include "gpuforge/ops/registry.h"

namespace gpuforge::ops {
namespace {

class TunedChoices : public testing::Test {
 protected:
  lab::TuningRecord record(Config config, double cost) const {
    return {.device = lab::tuned_device(facts_),
            .key = op_.tuning_key(problem_, "best"),
            .problem = problem_,
            .config = std::move(config),
            .p50 = cost,
            .unit = "proxy",
            .date = "2026-11-15T10:00:00Z"};
  }
  std::string chosen(const device::DeviceFacts& facts) {
    const TuningTable table = tuned_choices(folder_.path(), facts, log_);
    const Config* const config = table.find(op_.tuning_key(problem_, "best"));
    return config != nullptr ? to_string(*config) : "none";
  }

  const device::DeviceFacts facts_ = device::make_sim_device()->facts();
  const lab::Op op_ = find_op("matmul");
  const lab::Problem problem_ =
      lab::complete(op_, {.shape = {64, 64}, .dtype = DType::f32, .options = {{"n", "64"}}});
  TemporaryFolder folder_;
  Log log_{LogLevel::warning, [](LogLevel, std::string_view) {}};
};

TEST_F(TunedChoices, AreTheFastestThatTheOpStillHas) {
  EXPECT_EQ(chosen(facts_), "none");
  append_tuning(folder_.path(), record({{"rows", 64}, {"columns", 64}, {"depth", 8}}, 2));
  append_tuning(folder_.path(), record({{"rows", 32}, {"columns", 64}, {"depth", 8}}, 3));
  append_tuning(folder_.path(),
                record({{"rows", 48}, {"columns", 64}, {"depth", 8}}, 1));  // of an earlier version
  EXPECT_EQ(chosen(facts_), to_string(Config{{"rows", 64}, {"columns", 64}, {"depth", 8}}));
  EXPECT_EQ(chosen(device::make_cpu_device()->facts()), "none");
}

}  // namespace
}  // namespace gpuforge::ops
