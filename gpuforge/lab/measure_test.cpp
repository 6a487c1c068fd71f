#include "gpuforge/lab/measure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "gpuforge/lab/recheck.h"
#include "gpuforge/lab/workload_for_tests.h"
#include "tests/fake_driver/fake_driver.h"

namespace gpuforge::lab {
namespace {

using fake_driver::FakeDriver;
using testing::AllOf;
using testing::Each;
using testing::Gt;
using testing::HasSubstr;
using testing::SizeIs;

const MeasureOptions kShort = {.repetitions = 3, .seconds = 0.03, .warmup_seconds = 0.001};

Workload copy_workload(const std::shared_ptr<Context>& context, std::int64_t elements) {
  const Problem problem{.shape = {elements}};
  return op_workload(copy_op(), problem, "best", nullptr, work_out(copy_op(), problem, Contents::normal, 1),
                     context, 1024);
}

std::size_t count_samples(const Measurement& measurement) {
  std::size_t count = 0;
  for (const auto& samples : measurement.samples) count += samples.size();
  return count;
}

TEST(OperandSets, FillTheCacheThreeTimesAndFitTheMemory) {
  const std::size_t mib = 1 << 20, gib = 1 << 30;
  EXPECT_EQ(operand_sets(10 * mib, 60 * mib, 100 * gib), 18u);
  EXPECT_EQ(operand_sets(500 * mib, 60 * mib, 100 * gib), 4u);
  EXPECT_EQ(operand_sets(10 * gib, 60 * mib, 100 * gib), 1u);
  EXPECT_EQ(operand_sets(2 * gib, 60 * mib, 5 * gib), 1u);
  EXPECT_EQ(operand_sets(16, 60 * mib, 100 * gib), 1024u);
  EXPECT_EQ(operand_sets(0, 0, 0), 1u);
}

TEST(Measure, OnTheHostGivesTheHostsTime) {
  const auto context = context_on("cpu", {});
  const Measurement result = measure(copy_workload(context, 1 << 16), context, kShort);
  EXPECT_EQ(result.method, "host");
  EXPECT_EQ(result.note, "");
  EXPECT_THAT(result.samples, SizeIs(3));
  EXPECT_THAT(result.samples[0], Each(Gt(0.0)));
  EXPECT_EQ(result.summary.count, count_samples(result));
  EXPECT_LE(result.summary.min, result.summary.p50);
  EXPECT_LE(result.summary.p50, result.summary.p90);
  EXPECT_LE(result.median.low, result.summary.p50);
  EXPECT_GE(result.median.high, result.summary.p50);
  EXPECT_FALSE(result.clock);
}

TEST(Measure, TakesTheSamplesThatWereAskedFor) {
  const auto context = context_on("cpu", {});
  MeasureOptions options = kShort;
  options.repetitions = 5;
  options.iterations = 50;
  options.warmup = 10;
  std::size_t calls = 0;
  Workload work = copy_workload(context, 16);
  work.enqueue = [&calls](std::size_t, device::Stream&) { ++calls; };
  const Measurement result = measure(work, context, options);
  EXPECT_EQ(result.summary.count, 50u);
  EXPECT_EQ(calls, work.sets + 10 + 50 + work.sets) << "each set at first, and for who looks at the results";
  options.repetitions = 8;
  EXPECT_EQ(measure(work, context, options).summary.count, 50u) << "no multiple of the repetitions";
  options.iterations = 1;
  EXPECT_EQ(measure(work, context, options).summary.count, 1u);
}

TEST(Measure, TheSimulatorHasNoTime) {
  const auto context = context_on("sim", {});
  try {
    measure(copy_workload(context, 16), context, kShort);
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
  }
}

class MeasureOnTheFakeDriver : public testing::Test {
 protected:
  std::shared_ptr<Context> open() {
    ContextOptions options;
    options.jit = jit_options(read_environment());
    options.jit.cache_dir.reset();
    auto context = Context::make(device::open_device("cuda:0", FakeDriver::search()), std::move(options));
    try {
      context->jit().compiler().version();
    } catch (const Error&) {
      return nullptr;
    }
    return context;
  }
  // A device may let go of the driver on a thread of its own; the next test's driver is another.
  void TearDown() override {
    for (int i = 0; i < 1000 && fake_.counters().contexts > 0; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    EXPECT_EQ(fake_.counters().contexts, 0u);
  }
  // It reads PTX alone, which kernels for an arch newer than the compiler are.
  FakeDriver fake_{{"FAKE_CUDA_SM", "190"}};
};

TEST_F(MeasureOnTheFakeDriver, AGraphIsReplayed) {
  const auto context = open();
  if (context == nullptr) GTEST_SKIP() << "nothing to compile the clock's kernel with";
  Workload work = copy_workload(context, 1 << 20);
  std::vector<std::size_t> order;
  const auto inner = work.enqueue;
  work.enqueue = [&](std::size_t set, device::Stream& stream) {
    order.push_back(set);
    inner(set, stream);
  };
  const Measurement result = measure(work, context, kShort);
  EXPECT_EQ(result.method, "graph");
  EXPECT_EQ(result.note, "");
  EXPECT_THAT(result.samples, SizeIs(3));
  EXPECT_EQ(result.calls_per_sample % result.sets, 0u) << "whole rotations";
  EXPECT_EQ(result.sets,
            operand_sets(work.set_bytes, context->device().facts().l2_bytes, std::size_t{8} << 30));
  EXPECT_TRUE(result.colder_than_cache);
  EXPECT_FALSE(result.clock) << "its kernels do nothing, so no stamp was taken";
  // Every set first, twice more to see how long it takes, then each recording goes round and round.
  EXPECT_EQ(order.size(), work.sets * 3 + 3 * result.calls_per_sample);
  for (std::size_t i = 0; i < order.size(); ++i) ASSERT_EQ(order[i], i % work.sets);
}

TEST_F(MeasureOnTheFakeDriver, EventsAroundEachCallWithTheCacheOverwritten) {
  const auto context = open();
  if (context == nullptr) GTEST_SKIP() << "nothing to compile the clock's kernel with";
  MeasureOptions options = kShort;
  options.method = Method::events;
  options.iterations = 12;
  const Measurement result = measure(copy_workload(context, 1 << 20), context, options);
  EXPECT_EQ(result.method, "events");
  EXPECT_EQ(result.calls_per_sample, 1u);
  EXPECT_EQ(result.summary.count, 12u);
}

TEST_F(MeasureOnTheFakeDriver, WhatMustBePreparedIsTimedCallByCall) {
  const auto context = open();
  if (context == nullptr) GTEST_SKIP() << "nothing to compile the clock's kernel with";
  Workload work = copy_workload(context, 1 << 16);
  std::string order;
  const auto inner = work.enqueue;
  work.prepare = [&](std::size_t, device::Stream&) { order += 'p'; };
  work.enqueue = [&](std::size_t set, device::Stream& stream) {
    order += 'c';
    inner(set, stream);
  };
  const Measurement result = measure(work, context, kShort);
  EXPECT_EQ(result.method, "events");
  EXPECT_THAT(result.note, HasSubstr("gets its values back before every call"));
  for (std::size_t i = 0; i < order.size(); ++i) ASSERT_EQ(order[i], i % 2 == 0 ? 'p' : 'c');
}

// Right in one set of operands and wrong in another, as a kernel with an address of its own would be.
TEST_F(MeasureOnTheFakeDriver, WhatIsWrongInOneOfTheRotatingBuffersIsFound) {
  const auto context = open();
  if (context == nullptr) GTEST_SKIP() << "nothing to compile the clock's kernel with";
  const Problem problem{.shape = {1 << 16}};
  const Op op = copy_op();
  const Worked worked = work_out(op, problem, Contents::normal, 1);
  Workload work = op_workload(op, problem, "best", nullptr, worked, context, 1024);
  ASSERT_GT(work.sets, 3u);
  measure(work, context, kShort);
  EXPECT_EQ(recheck(op, problem, worked, work, context), "");
  work.enqueue = [inner = work.enqueue](std::size_t set, device::Stream& stream) {
    inner(set == 2 ? 1 : set, stream);
  };
  measure(work, context, kShort);
  EXPECT_THAT(
      recheck(op, problem, worked, work, context),
      AllOf(HasSubstr("wrong in later calls (operands 3 of "), HasSubstr("elements of out are wrong")));
}

TEST_F(MeasureOnTheFakeDriver, WorkThatAllocatesIsRecordedAsAnyOther) {
  const auto context = open();
  if (context == nullptr) GTEST_SKIP() << "nothing to compile the clock's kernel with";
  Workload work = copy_workload(context, 1 << 20);
  work.enqueue = [context](std::size_t, device::Stream& stream) {
    const Array temporary = zeros(context, {1024}, DType::f32, stream);
  };
  const Measurement result = measure(work, context, kShort);
  EXPECT_EQ(result.method, "graph");
  EXPECT_EQ(result.note, "");
  EXPECT_GE(result.summary.count, 3u);
}

TEST_F(MeasureOnTheFakeDriver, WorkThatWaitsCannotBeRecordedAndTheErrorSaysWhatToDo) {
  const auto context = open();
  if (context == nullptr) GTEST_SKIP() << "nothing to compile the clock's kernel with";
  Workload work = copy_workload(context, 1 << 20);
  work.enqueue = [](std::size_t, device::Stream& stream) { stream.synchronize(); };
  try {
    static_cast<void>(measure(work, context, kShort));
    ADD_FAILURE() << "no Error";
  } catch (const Error& error) {
    EXPECT_THAT(error.message(), AllOf(HasSubstr("cannot be recorded as a graph"), HasSubstr("synchronize"),
                                       HasSubstr("events")));
  }
}

// The stand-in plays a chip at 1500 MHz: a stamp is a time and 1.5 cycles for each of its nanoseconds.
TEST_F(MeasureOnTheFakeDriver, TheClockComesFromStampsAroundTheWork) {
  fake_.on_launch(
      [](const FakeCudaLaunch* launch, void*) {
        if (std::string_view(launch->function).find("stamp_clock") == std::string_view::npos) return;
        auto* const stamp = *static_cast<std::uint64_t* const*>(launch->parameters[0]);
        const auto now = static_cast<std::uint64_t>(steady_seconds() * 1e9);
        stamp[0] = 1;
        stamp[1] = now + now / 2;
        stamp[2] = now;
      },
      nullptr);
  const auto context = open();
  if (context == nullptr) GTEST_SKIP() << "nothing to compile the clock's kernel with";
  const Measurement result = measure(copy_workload(context, 1 << 18), context, kShort);
  ASSERT_TRUE(result.clock);
  EXPECT_NEAR(result.clock->mhz, 1500, 1);
  EXPECT_EQ(result.clock->limit_mhz, context->device().facts().clock_khz / 1000.0);
}

TEST(ClockReport, KnowsAChipThatIsHeldDown) {
  const std::vector<double> mhz = {1980, 1400, 1970};
  const auto report = clock_report(mhz, 1'980'000);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->mhz, 1970);
  EXPECT_EQ(report->lowest_mhz, 1400);
  EXPECT_TRUE(report->throttled());
  EXPECT_FALSE(clock_report(std::vector<double>{1900}, 1'980'000)->throttled());
  EXPECT_FALSE(clock_report(std::vector<double>{1900}, 0)->throttled());
  EXPECT_FALSE(clock_report({}, 1'980'000));
}

}  // namespace
}  // namespace gpuforge::lab
