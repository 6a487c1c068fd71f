// Tasks have the memory they were granted, and no more.
#include "gpuforge/sched/task_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "gpuforge/base/error.h"
#include "gpuforge/device/cpu_device.h"
#include "gpuforge/memory/pool.h"
#include "gpuforge/sched/executor.h"
#include "gpuforge/sched/run_workload.h"

namespace gpuforge::sched {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr std::size_t kMiB = std::size_t{1} << 20;

// Allocates as it is told with each piece, and keeps it.
class Taker final : public Body {
 public:
  Taker(std::vector<std::size_t> sizes, std::function<void()> look = {})
      : sizes_(std::move(sizes)), look_(std::move(look)) {}
  void submit(Piece& piece) override {
    buffers_.emplace_back(piece.allocator, sizes_[next_], piece.stream.shared_from_this());
    if (look_) look_();
  }
  After done(double) override { return ++next_ < sizes_.size() ? After::more : After::finished; }
  void release() override {
    if (frees) buffers_.clear();
  }
  bool frees = true;

 private:
  std::vector<std::size_t> sizes_;
  std::function<void()> look_;
  std::size_t next_ = 0;
  std::vector<memory::Buffer> buffers_;
};

class TaskMemory : public testing::Test {
 protected:
  std::shared_ptr<device::Device> device_ = device::make_cpu_device();
  std::shared_ptr<memory::Pool> pool_ = memory::make_pool(device_);
};

TEST_F(TaskMemory, WhoTakesMoreThanItWasGrantedFailsAlone) {
  Executor executor(device_, {.memory_bytes = 64 * kMiB}, pool_);
  const TaskId greedy =
      executor.submit({.name = "greedy", .qos = Qos::guaranteed, .memory = {8 * kMiB, 8 * kMiB}},
                      std::make_unique<Taker>(std::vector<std::size_t>{6 * kMiB, 4 * kMiB}));
  const TaskId modest =
      executor.submit({.name = "modest", .qos = Qos::guaranteed, .memory = {8 * kMiB, 8 * kMiB}},
                      std::make_unique<Taker>(std::vector<std::size_t>{4 * kMiB, 4 * kMiB}));
  const TaskId none = executor.submit({.name = "none"}, std::make_unique<Taker>(std::vector<std::size_t>{1}));
  executor.wait_all();
  EXPECT_EQ(executor.status(greedy).state, TaskState::failed);
  EXPECT_THAT(executor.status(greedy).message,
              AllOf(HasSubstr("task greedy: an allocation of 4194304 bytes wanted"),
                    HasSubstr("of a limit of 8388608 bytes 6291456 are in use")));
  EXPECT_EQ(executor.status(modest).state, TaskState::completed) << executor.status(modest).message;
  EXPECT_THAT(executor.status(none).message, HasSubstr("task none: an allocation of 1 bytes wanted"));
}

TEST_F(TaskMemory, IsAccountedUnderTheTasksNameAndGoesWithIt) {
  Executor executor(device_, {.memory_bytes = 64 * kMiB}, pool_);
  std::vector<memory::TagUse> seen;
  executor.submit(
      {.name = "llm", .qos = Qos::guaranteed, .memory = {8 * kMiB, 8 * kMiB}},
      std::make_unique<Taker>(std::vector<std::size_t>{3 * kMiB}, [&] { seen = pool_->statistics().tags; }));
  executor.wait_all();
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].tag, "llm");
  EXPECT_EQ(seen[0].requested_bytes, 3 * kMiB);
  EXPECT_EQ(pool_->statistics().requested_bytes, 0u);
}

// More tasks than a pool has tags, one after the other and all at once.
TEST_F(TaskMemory, ThereMayBeManyTasks) {
  Executor executor(device_,
                    {.memory_bytes = 1000 * kMiB,
                     .partitions = {{.name = "default", .memory_bytes = 1000 * kMiB, .streams = 200}}},
                    pool_);
  for (int i = 0; i < 150; ++i) {
    executor.submit({.name = "task " + std::to_string(i), .qos = Qos::guaranteed, .memory = {kMiB, kMiB}},
                    std::make_unique<Taker>(std::vector<std::size_t>{kMiB / 2, kMiB / 4}));
  }
  executor.wait_all();
  for (const TaskReport& task : executor.report().tasks)
    EXPECT_EQ(task.status.state, TaskState::completed) << task.status.message;
}

// Steps of a workload with kernels that somebody else knows, here a fill.
class FillKernel final : public StepKernel {
 public:
  explicit FillKernel(std::size_t bytes) : bytes_(bytes) {}
  void queue(Piece& piece) override {
    if (buffer_.address() == 0)
      buffer_ = memory::Buffer(piece.allocator, bytes_, piece.stream.shared_from_this());
    piece.stream.fill(buffer_.address(), 1, 1, bytes_);
  }
  void release() override { buffer_.reset(); }

 private:
  std::size_t bytes_;
  memory::Buffer buffer_;
};

TEST_F(TaskMemory, KernelsOfAWorkloadHaveTheirOperandsFromIt) {
  const auto context = Context::make(device_);
  const Workload workload = read_workload(
      "tasks:\n"
      "  - {name: fits, memory: 1MiB, requests: 3, kernels: [{kernel: fill, shape: 1048576}]}\n"
      "  - {name: does_not, memory: 1MiB, kernels: [{spin: 100us}, {kernel: fill, shape: 1048577}]}\n",
      "w.yaml");
  const RunReport report = run_workload(workload, context, [](const KernelStep& step) {
    return std::make_unique<FillKernel>(std::stoul(step.shape));
  });
  EXPECT_EQ(report.tasks[0].status.state, TaskState::completed) << report.tasks[0].status.message;
  EXPECT_EQ(report.tasks[0].latencies_us.size(), 3u);
  EXPECT_THAT(report.tasks[1].status.message,
              HasSubstr("task does_not: an allocation of 1048577 bytes wanted, and of a limit of 1048576"));
  EXPECT_EQ(context->pool()->statistics().requested_bytes, 0u);
}

TEST_F(TaskMemory, AKernelThatCannotBeMadeIsToldWithItsLine) {
  const auto context = Context::make(device_);
  const Workload workload = read_workload(
      "tasks:\n"
      "  - {name: a, memory: 1MiB, kernels: [{kernel: fil, shape: 1}]}\n",
      "w.yaml");
  const auto problem = [&](const MakeStepKernel& make) -> std::string {
    try {
      run_workload(workload, context, make);
    } catch (const Error& error) {
      return error.message();
    }
    return "none";
  };
  EXPECT_EQ(problem([](const KernelStep&) -> std::unique_ptr<StepKernel> {
              throw Error(ErrorCode::invalid_argument, "there is no op called fil");
            }),
            "w.yaml:2: kernel fil: there is no op called fil");
  EXPECT_THAT(problem({}), HasSubstr("w.yaml:2: nobody here can make the kernel fil"));
}

// A body that keeps what was called back is ended when it is next on the device.
TEST_F(TaskMemory, WhatIsCalledBackIsFreed) {
  const auto limited = task_memory(pool_, "keeper");
  limited->set_limit(kMiB);
  const auto stream = device_->make_stream();
  memory::Buffer buffer(limited, kMiB, stream);
  TaskStatus status{.task = {.name = "keeper"}};
  status.granted_bytes = kMiB;
  EXPECT_NO_THROW(check_memory(*limited, status));
  status.granted_bytes = kMiB / 2;
  try {
    check_memory(*limited, status);
    ADD_FAILURE() << "no Error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::out_of_memory);
    EXPECT_THAT(error.message(),
                HasSubstr("task keeper: it uses 1.0 MiB after it was told that it may use 512.0 KiB"));
  }
}

}  // namespace
}  // namespace gpuforge::sched
