#include "gpuforge/lab/tune.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <thread>

#include "gpuforge/lab/workload_for_tests.h"
#include "tests/fake_driver/fake_driver.h"

namespace gpuforge::lab {
namespace {

using fake_driver::FakeDriver;
using gpuforge::to_string;
using testing::HasSubstr;

// A copy with 24 configurations, of which x = 1 does not compile, x = 2 is refused by the launch and x = 3
// writes nothing but zeros. The default is x = 8, y = 1.
Op tunable_op() {
  Op op = copy_op();
  op.configs = [](const Problem&, std::string_view variant, const device::DeviceFacts&) {
    std::vector<Config> list;
    if (variant != "best") return list;
    for (const int x : {1, 2, 3, 8, 16, 32}) {
      for (const int y : {1, 2, 3, 4}) list.push_back({{"x", x}, {"y", y}});
    }
    return list;
  };
  op.choose = [](const Problem&, std::string_view, const device::DeviceFacts&, const TuningTable& table) {
    EXPECT_EQ(table.size(), 0u) << "the default is what is taken when nothing was tuned";
    return Choice{{{"x", 8}, {"y", 1}}, "always"};
  };
  op.tuning_key = [](const Problem& problem, std::string_view variant) {
    return TuningKey{"copy", std::string(variant), problem.dtype, shape_class(problem.shape)};
  };
  op.kernels = [](Context&, const Problem&, std::string_view,
                  const Config* config) -> std::vector<std::shared_ptr<const jit::Kernel>> {
    if (config->at("x") == 1) throw Error(ErrorCode::compile, "x of 1 is no size");
    return {};
  };
  op.run = [run = op.run](const Call& call) {
    if (call.config == nullptr) throw Error(ErrorCode::internal, "every candidate has a configuration");
    const std::int64_t x = call.config->at("x");
    if (x == 2) throw Error(ErrorCode::invalid_argument, "2 is too few threads");
    if (x == 3) {
      call.stream.fill(call.operands[0].address(), 0, 1, call.operands[0].bytes());
      return;
    }
    run(call);
  };
  return op;
}

double landscape(const Config& config) {
  return 1 + std::abs(static_cast<double>(config.at("x") - 16)) / 8 +
         static_cast<double>(std::abs(config.at("y") - 3));
}

TuneRequest request() {
  TuneRequest request;
  request.problem = {.shape = {16, 8}, .dtype = DType::f16};
  request.variant = "best";
  request.cost = landscape;
  return request;
}

std::size_t with(const TuneResult& result, Outcome outcome) {
  return static_cast<std::size_t>(
      std::count_if(result.records.begin(), result.records.end(),
                    [&](const TuningRecord& record) { return record.outcome == outcome; }));
}

TEST(Tune, AllFindsTheBestAndDiscardsWithReasons) {
  std::vector<TuningRecord> kept;
  std::size_t steps = 0;
  const TuneResult result = tune(tunable_op(), request(), context_on("sim", {}),
                                 {.keep = [&](const TuningRecord& record) { kept.push_back(record); },
                                  .progress =
                                      [&](const TuneStep& step) {
                                        ++steps;
                                        EXPECT_EQ(step.all, 24u);
                                        EXPECT_LT(step.done, 24u);
                                      }});
  EXPECT_EQ(result.space, 24u);
  EXPECT_EQ(result.ended, "");
  EXPECT_EQ(result.known, 0u);
  EXPECT_EQ(result.records.size(), 24u);
  EXPECT_EQ(kept, result.records);
  EXPECT_GE(steps, 24u);
  ASSERT_NE(result.best(), nullptr);
  EXPECT_EQ(to_string(result.best()->config), "x=16 y=3");
  EXPECT_EQ(result.best()->p50, 1);
  ASSERT_EQ(result.usual(), &result.records.front());
  EXPECT_EQ(result.usual()->p50, 4);
  EXPECT_EQ(with(result, Outcome::good), 12u);
  EXPECT_EQ(with(result, Outcome::does_not_compile), 4u);
  EXPECT_EQ(with(result, Outcome::does_not_run), 4u);
  EXPECT_EQ(with(result, Outcome::wrong_result), 4u);
  for (const TuningRecord& record : result.records) {
    EXPECT_EQ(record.device.arch, "sm_90a");
    EXPECT_EQ(record.unit, "proxy");
    EXPECT_EQ(record.key.shapes, "16x8");
    if (record.outcome == Outcome::does_not_compile) {
      EXPECT_EQ(record.reason, "x of 1 is no size");
    }
    if (record.outcome == Outcome::does_not_run) {
      EXPECT_THAT(record.reason, HasSubstr("too few threads"));
    }
    if (record.outcome == Outcome::wrong_result) {
      EXPECT_THAT(record.reason, HasSubstr("out"));
    }
  }
}

TEST(Tune, WhatIsDeclaredTwiceIsOneCandidate) {
  Op op = tunable_op();
  op.configs = [](const Problem&, std::string_view, const device::DeviceFacts&) {
    return std::vector<Config>{{{"x", 8}, {"y", 1}}, {{"x", 16}, {"y", 1}}, {{"x", 8}, {"y", 1}}};
  };
  const TuneResult result = tune(op, request(), context_on("sim", {}));
  EXPECT_EQ(result.space, 2u);
  EXPECT_EQ(result.records.size(), 2u);
  EXPECT_EQ(result.ended, "");
}

TEST(Tune, ClimbFindsTheBestWithinItsBudget) {
  TuneRequest climb = request();
  climb.search = {.strategy = Strategy::climb, .budget = 18};
  const TuneResult result = tune(tunable_op(), climb, context_on("sim", {}));
  EXPECT_EQ(to_string(result.best()->config), "x=16 y=3");
  EXPECT_EQ(result.records.size(), 18u);
  EXPECT_EQ(result.ended, "the budget of 18 was spent");
}

TEST(Tune, WhatIsKnownIsNotMeasuredAgain) {
  const auto context = context_on("sim", {});
  TuneRequest some = request();
  std::size_t measured = 0;
  some.cost = [&](const Config& config) {
    ++measured;
    return landscape(config);
  };
  some.search = {.strategy = Strategy::random, .budget = 10};
  const TuneResult first = tune(tunable_op(), some, context);
  const std::size_t once = measured;
  EXPECT_GT(once, 1u);
  bool kept = false;
  const TuneSinks sinks{.known = first.records, .keep = [&](const TuningRecord&) { kept = true; }};
  const TuneResult second = tune(tunable_op(), some, context, sinks);
  EXPECT_EQ(measured, once);
  EXPECT_FALSE(kept);
  EXPECT_EQ(second.known, 10u);
  EXPECT_EQ(second.records, first.records);

  some.search = {};
  EXPECT_EQ(tune(tunable_op(), some, context, sinks).known, 10u);
  EXPECT_EQ(measured, 12u) << "every good one once";

  measured = 0;
  some.again = true;
  EXPECT_EQ(tune(tunable_op(), some, context, sinks).known, 0u);
  EXPECT_EQ(measured, 12u);

  // Another problem, or other kernels, are not known.
  some.again = false;
  some.problem.shape = {16, 16};
  EXPECT_EQ(tune(tunable_op(), some, context, sinks).known, 0u);
  std::vector<TuningRecord> older = first.records;
  for (TuningRecord& record : older) record.compile_key = "of another source";
  EXPECT_EQ(tune(tunable_op(), request(), context, {.known = older}).known, 0u);
}

TEST(Tune, ShardsTogetherMeasureAll) {
  std::set<std::string> together;
  std::size_t sum = 0;
  for (std::size_t index = 1; index <= 5; ++index) {
    TuneRequest part = request();
    part.shard = index;
    part.shards = 5;
    const TuneResult result = tune(tunable_op(), part, context_on("sim", {}));
    ASSERT_NE(result.usual(), nullptr) << "the default is in each";
    for (const TuningRecord& record : result.records) {
      together.insert(to_string(record.config));
      if (!record.is_default) ++sum;
    }
  }
  EXPECT_EQ(together.size(), 24u);
  EXPECT_EQ(sum, 23u);
}

TEST(Tune, EndsAfterItsSeconds) {
  TuneRequest brief = request();
  brief.seconds = 0;
  const TuneResult result = tune(tunable_op(), brief, context_on("sim", {}));
  EXPECT_EQ(result.records.size(), 1u) << "the default is always measured";
  EXPECT_EQ(result.ended, "0 s were over");
}

TEST(Tune, AFaultThatLosesTheDeviceEndsItAndIsKept) {
  Op op = tunable_op();
  op.run = [run = op.run](const Call& call) {
    if (call.config->at("x") == 32) throw Error(ErrorCode::cuda, "an illegal address");
    run(call);
  };
  const TuneResult result = tune(op, request(), context_on("sim", {}));
  EXPECT_TRUE(result.device_lost);
  EXPECT_THAT(result.ended, HasSubstr("runs nothing more"));
  EXPECT_LT(result.records.size(), 24u);
  EXPECT_EQ(result.records.back().outcome, Outcome::does_not_run);
  EXPECT_THAT(result.records.back().reason, HasSubstr("an illegal address"));
}

TEST(Tune, InTheSimulatorTheProxyRanks) {
  TuneRequest counted = request();
  counted.cost = nullptr;
  counted.search.budget = 1;
  const TuneResult result = tune(tunable_op(), counted, context_on("sim", {}));
  EXPECT_EQ(result.best()->p50, 0) << "it has no kernel";
  EXPECT_EQ(sim_proxy({.warp_instructions = 8, .global_sectors = 3, .shared_wavefronts = 5}), 13);
}

// A device with times, which the stand-in for the driver plays.
class TuneWithTimes : public testing::Test {
 protected:
  TuneResult result_of(const std::function<double(const Config&, int call)>& cost) {
    std::map<Config, int> calls;
    TuneRequest timed = request();
    timed.cost = [&](const Config& config) { return cost(config, calls[config]++); };
    return tune(tunable_op(), timed, context_on("cuda:0", FakeDriver::search()),
                {.known = known_, .keep = [&](const TuningRecord& record) { kept_.push_back(record); }});
  }
  // A device may let go of the driver on a thread of its own; the next test's driver is another.
  void TearDown() override {
    for (int i = 0; i < 1000 && fake_.counters().contexts > 0; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  static double truth(const Config& config, int call) { return landscape(config) * (1 + 1e-4 * (call % 3)); }

  FakeDriver fake_{{"FAKE_CUDA_SM", "190"}};
  std::vector<TuningRecord> known_;
  std::vector<TuningRecord> kept_;
};

TEST_F(TuneWithTimes, AWinnerByNoiseIsNoWinner) {
  const Config lucky{{"x", 32}, {"y", 4}};
  const TuneResult result = result_of([&](const Config& config, int call) {
    return config == lucky && call == 0 ? 0.5 : truth(config, call);
  });
  EXPECT_EQ(to_string(result.best()->config), "x=16 y=3");
  EXPECT_NEAR(result.best()->p50, 1, 0.001);
  EXPECT_TRUE(result.best()->settled);
  EXPECT_TRUE(result.next()->settled);
  EXPECT_TRUE(result.usual()->settled);
  ASSERT_TRUE(result.over_default && result.over_next);
  EXPECT_EQ(result.over_default->verdict, Verdict::faster);
  EXPECT_NEAR(result.over_default->ratio, 0.25, 0.01);
  EXPECT_EQ(result.over_next->verdict, Verdict::faster);
  EXPECT_EQ(result.records.size(), 24u);
  // The lucky one, the best, the default, and of those that share the second place as many as it takes.
  EXPECT_GE(kept_.size(), 24u + 4u);
  EXPECT_LE(kept_.size(), 24u + 8u);
  // What is chosen from now on is what was seen twice.
  const TuningTable table = tuning_table(kept_, result.best()->device);
  const auto chosen = table.find(result.best()->key);
  ASSERT_TRUE(chosen);
  EXPECT_EQ(to_string(*chosen), "x=16 y=3");

  known_ = kept_;
  kept_.clear();
  const TuneResult again = result_of(truth);
  EXPECT_EQ(again.known, 24u);
  EXPECT_EQ(kept_.size(), 0u) << "all of that is known";
  EXPECT_EQ(to_string(again.best()->config), "x=16 y=3");
  EXPECT_FALSE(again.over_default);
}

TEST_F(TuneWithTimes, WhatIsNotFasterBeyondNoiseIsCalledThat) {
  const TuneResult result = result_of([](const Config& config, int call) {
    const std::int64_t y = config.at("y");
    return (y == 3 ? 0.999 : 1.0) + 0.004 * static_cast<double>((y + call) % 3);
  });
  EXPECT_EQ(result.best()->config.at("y"), 3);
  ASSERT_TRUE(result.over_default);
  EXPECT_EQ(result.over_default->verdict, Verdict::same);
  EXPECT_NEAR(result.over_default->ratio, 0.999, 0.002);
}

TEST(Tune, RefusesWhereNothingIsToBeChosen) {
  const auto complaint = [](const Op& op, const TuneRequest& asked, std::string_view device) -> std::string {
    try {
      tune(op, asked, context_on(device, {}));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      return error.message();
    }
    return "nothing was thrown";
  };
  EXPECT_EQ(complaint(tunable_op(), request(), "cpu"),
            "tune: cpu runs no kernels, so there is nothing to tune on it; take cuda:N or sim");
  TuneRequest other = request();
  other.variant = "naive";
  EXPECT_EQ(complaint(tunable_op(), other, "sim"), "tune: copy naive has no choices to tune for f16 16x8");
  Op unavailable = tunable_op();
  unavailable.kernels = [](Context&, const Problem&, std::string_view,
                           const Config*) -> std::vector<std::shared_ptr<const jit::Kernel>> {
    throw Error(ErrorCode::unavailable, "no compiler");
  };
  EXPECT_THROW(tune(unavailable, request(), context_on("sim", {})), Error);
}

}  // namespace
}  // namespace gpuforge::lab
