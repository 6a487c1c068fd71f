#include "gpuforge/ops/softmax_online_backward/softmax_online_backward.h"

#include "gpuforge/ops/op_for_tests.h"
#include "gpuforge/ops/softmax_online_backward/softmax_online_backward_kernels.h"

namespace gpuforge::ops {
namespace {

using testing::HasSubstr;

class SoftmaxOnlineBackward : public OpTest {};
INSTANTIATE_TEST_SUITE_P(Cpu, SoftmaxOnlineBackward, testing::Values("cpu"));
INSTANTIATE_TEST_SUITE_P(Sim, SoftmaxOnlineBackward, testing::Values("sim"));
INSTANTIATE_TEST_SUITE_P(Gpu, SoftmaxOnlineBackward, testing::Values("cuda:0"));

// And on a chip without clusters, where blocks hold them, or nobody does.
class SoftmaxOnlineBackwardLongRows : public SoftmaxOnlineBackward {};
INSTANTIATE_TEST_SUITE_P(Cpu, SoftmaxOnlineBackwardLongRows, testing::Values("cpu"));
INSTANTIATE_TEST_SUITE_P(Sim, SoftmaxOnlineBackwardLongRows, testing::Values("sim", "sim:sm_86"));
INSTANTIATE_TEST_SUITE_P(Gpu, SoftmaxOnlineBackwardLongRows, testing::Values("cuda:0"));

TEST_P(SoftmaxOnlineBackward, IsTheReferenceEverywhere) {
  expect_all_good(find_op("softmax_online_backward"));
}

TEST_P(SoftmaxOnlineBackward, EveryKindOfConfiguration) {
  const lab::Op op = find_op("softmax_online_backward");
  expect_configs_good(op, {.shape = {9, 203}, .dtype = DType::f16}, "best");
  expect_configs_good(op, {.shape = {45, 33}, .dtype = DType::f32, .options = {{"dim", "0"}}}, "best");
}

TEST_P(SoftmaxOnlineBackwardLongRows, AreAsGood) {
  const lab::Op op = find_op("softmax_online_backward");
  for (const std::int64_t length : {32768, 65537, 262144}) {
    for (const DType dtype : {DType::f16, DType::f32}) {
      const lab::Problem problem = lab::complete(op, {.shape = {1, length}, .dtype = dtype});
      expect_good(op, {.problem = problem, .variant = "best"});
    }
  }
}

// y in registers, dy in shared memory.
TEST_P(SoftmaxOnlineBackward, ClustersOfBlocksHoldBothRows) {
  for (const DType dtype : {DType::f16, DType::f32})
    expect_clusters_good(find_op("softmax_online_backward"), {.dtype = dtype}, {32, 128},
                         {lab::Contents::normal, lab::Contents::nans});
}

// More rows than clusters fit, so that each has several: full ones, some that leave the last blocks less, and
// some that leave most nothing.
TEST_P(SoftmaxOnlineBackward, ClustersHaveLongRowsInTurn) {
  const lab::Op op = find_op("softmax_online_backward");
  const device::DeviceFacts& facts = context_->device().facts();
  if (!facts.cluster_launch || facts.launch.max_cluster_blocks < 16)
    GTEST_SKIP() << facts.name << " has no clusters of 16 blocks";
  const bool simulated = facts.kind == device::DeviceKind::sim;
  for (const std::int64_t threads : {256, 512}) {
    if (simulated && threads == 256) continue;  // of which more fit, so that a turn takes as many rows more
    const Config config{{"threads", threads}, {"rows", 1}, {"vector", 4}, {"items", 32}, {"cluster", 16}};
    const std::int64_t full = 16 * threads * 32;
    const std::pair<std::int64_t, std::int64_t> shapes[] = {{simulated ? 19 : 61, full},
                                                            {simulated ? 18 : 33, full - 2800},
                                                            {simulated ? 40 : 200, 68},
                                                            {1, full}};
    for (const auto& [rows, length] : shapes) {
      for (const lab::Contents contents : {lab::Contents::normal, lab::Contents::nans}) {
        const lab::Problem problem = lab::complete(op, {.shape = {rows, length}, .dtype = DType::f32});
        expect_good(op, {.problem = problem, .variant = "best", .contents = contents, .config = config});
      }
    }
  }
}

TEST_P(SoftmaxOnlineBackward, RefusesWhatItCannotDo) {
  const Array y = ones(context_, {4, 6}, DType::f32, *stream_);
  const Array dy = ones(context_, {4, 6}, DType::f32, *stream_);
  Array dx = empty(context_, {4, 6}, DType::f32, *stream_);
  EXPECT_EQ(error_of([&] { softmax_online_backward(dx, dy.transpose(), y, {}, *stream_); }),
            "invalid_argument: softmax_online_backward: dy must have shape [4, 6]; found [6, 4]");
  EXPECT_EQ(error_of([&] { softmax_online_backward(dx, dy.astype(DType::bf16, *stream_), y, {}, *stream_); }),
            "invalid_argument: softmax_online_backward: dy must be f32; found bf16");
  Array shared = dy;
  EXPECT_THAT(error_of([&] { softmax_online_backward(shared, dy, y, {}, *stream_); }),
              HasSubstr("shares memory"));
  EXPECT_THAT(error_of([&] { softmax_online_backward(dx, dy, y, {.variant = "online"}, *stream_); }),
              HasSubstr("there is no variant 'online'; it has best, naive"));
}

}  // namespace
}  // namespace gpuforge::ops
