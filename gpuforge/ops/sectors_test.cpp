// Rows are read and written in whole vectors: as many sectors as their bytes need, at every pass over memory,
// counted by the simulator. What a GPU counts is the same (lab/profile_counters.h).
#include "gpuforge/lab/profile_counters.h"
#include "gpuforge/lab/profile_sim.h"
#include "gpuforge/ops/op_for_tests.h"
#include "gpuforge/ops/row_config.h"

namespace gpuforge::ops {
namespace {

struct Passes {
  const char* op;
  const char* variant;
  lab::Options options;
  int held_loads;      // arrays of the problem's shape that are read; 0: the variant holds nothing
  int streamed_loads;  // the same when nothing is held, every pass counted
  int stores;
};

class Sectors : public OpTest {
 protected:
  // Of the op's first launch, in arrays of the problem's shape.
  void expect_passes(const Passes& passes, DType dtype, const RowConfig& config, int loads) {
    const lab::Op op = find_op(passes.op);
    const lab::Problem problem =
        lab::complete(op, {.shape = {32, 1024}, .dtype = dtype, .options = passes.options});
    const lab::SimProfile profile = lab::profile_on_sim(
        op, {.problem = problem, .variant = passes.variant, .config = to_config(config)}, context_);
    ASSERT_FALSE(profile.launches.empty());
    SCOPED_TRACE(std::string(passes.op) + " " + passes.variant + " " + std::string(name(dtype)) + " " +
                 to_string(to_config(config)));
    const double least =
        static_cast<double>(element_count(problem.shape)) * static_cast<double>(element_bytes(dtype)) / 32;
    // The shortest rows of layer_norm: every warp reads the row's first value once more.
    const bool again =
        std::string_view(passes.op) == "layer_norm" && config.items == config.vector && loads == 1;
    const double more = again ? static_cast<double>(problem.shape[0]) * config.threads / 32 : 0;
    EXPECT_EQ(count(profile.launches[0], "global_load_sectors"), loads * least + more);
    EXPECT_EQ(count(profile.launches[0], "global_store_sectors"), passes.stores * least);
    // 32 lanes with 16 bytes each are 16 sectors.
    EXPECT_EQ(count(profile.launches[0], "global_load_requests"), loads * least / 16 + more);
    EXPECT_EQ(count(profile.launches[0], "global_store_requests"), passes.stores * least / 16);
  }

  sim::LaunchReport first_launch(std::string_view op_name, const Shape& shape, DType dtype) {
    const lab::Op op = find_op(op_name);
    const lab::Problem problem = lab::complete(op, {.shape = shape, .dtype = dtype});
    return lab::profile_on_sim(op, {.problem = problem, .variant = "best"}, context_).launches.at(0);
  }

  static double count(const sim::LaunchReport& launch, std::string_view counter) {
    for (const lab::ProfileCounter& known : lab::profile_counters())
      if (known.name == counter) return known.count(launch);
    ADD_FAILURE() << "there is no counter " << counter;
    return 0;
  }
};

TEST_P(Sectors, AreAsManyAsTheBytesNeed) {
  const lab::Options plain{{"weight", "false"}};
  const lab::Options bare{{"weight", "false"}, {"bias", "false"}};
  lab::Options plain_residual = plain, bare_residual = bare;
  plain_residual["residual"] = bare_residual["residual"] = "true";
  const Passes all[] = {
      {"softmax_online", "best", {}, 1, 2, 1},      {"softmax_online", "online", {}, 0, 2, 1},
      {"softmax_online", "safe", {}, 0, 3, 1},      {"softmax_online_backward", "best", {}, 2, 4, 1},
      {"rms_norm", "best", plain, 1, 2, 1},         {"rms_norm", "best", plain_residual, 2, 4, 2},
      {"layer_norm", "best", bare, 1, 2, 1},        {"layer_norm", "best", bare_residual, 2, 4, 2},
      {"rms_norm_backward", "best", plain, 2, 4, 1}};
  for (const Passes& passes : all) {
    for (const DType dtype : {DType::f16, DType::f32}) {
      const int vector = 16 / static_cast<int>(element_bytes(dtype));
      const RowConfig streamed{.threads = 32, .rows = 2, .vector = vector, .items = 0};
      expect_passes(passes, dtype, streamed, passes.streamed_loads);
      if (passes.held_loads == 0) continue;
      const RowConfig held{.threads = 1024 / vector, .rows = 1, .vector = vector, .items = vector};
      expect_passes(passes, dtype, held, passes.held_loads);
    }
  }
}

// Rows that begin anywhere move in vectors, too, and single elements at their ends; a weight that begins
// elsewhere than the row takes three accesses for one.
TEST_P(Sectors, OddRowsTakeFewMoreAccesses) {
  for (const std::string_view op :
       {"softmax_online", "softmax_online_backward", "rms_norm", "layer_norm", "rms_norm_backward"}) {
    for (const DType dtype : {DType::f16, DType::f32}) {
      SCOPED_TRACE(std::string(op) + " " + std::string(name(dtype)));
      const sim::LaunchReport even = first_launch(op, {24, 4096}, dtype);
      const sim::LaunchReport odd = first_launch(op, {24, 4097}, dtype);
      EXPECT_LE(count(odd, "global_load_requests"), 2.5 * count(even, "global_load_requests"));
      EXPECT_LE(count(odd, "global_store_requests"), 1.1 * count(even, "global_store_requests"));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sim, Sectors, testing::Values("sim"), device_case_name);

}  // namespace
}  // namespace gpuforge::ops
