#include "gpuforge/lab/bench.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>

#include "gpuforge/lab/bench_json.h"
#include "gpuforge/lab/workload_for_tests.h"

namespace gpuforge::lab {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

const MeasureOptions kShort = {.repetitions = 2, .seconds = 0.01, .warmup_seconds = 0.001};
BenchResult bench(const Op& op, const BenchCase& which, const std::shared_ptr<Context>& context,
                  const MeasureOptions& options, Ceilings* ceilings) {
  LastWorked last;
  return lab::bench(op, which, context, options, ceilings, last);
}

BenchCase copy_case() {
  return {.op = "copy", .problem = {.shape = {64, 32}, .dtype = DType::f16}, .variant = "best"};
}

TEST(Bench, VerifiesThenMeasures) {
  const BenchResult result = bench(copy_op(), copy_case(), context_on("cpu", {}), kShort, nullptr);
  EXPECT_EQ(result.failure, "");
  ASSERT_TRUE(result.measurement);
  EXPECT_EQ(result.measurement->method, "host");
  EXPECT_FALSE(result.counts);
  EXPECT_DOUBLE_EQ(result.gb_per_s(), 2 * 64 * 32 * 2 / result.measurement->summary.p50 / 1e6);
  EXPECT_EQ(result.share_of_ceiling(), 0);
  EXPECT_EQ(to_string(result.which), "copy best f16 64x32");
}

TEST(Bench, CountsInTheSimulator) {
  const BenchResult result = bench(copy_op(), copy_case(), context_on("sim", {}), kShort, nullptr);
  EXPECT_EQ(result.failure, "");
  EXPECT_FALSE(result.measurement);
  ASSERT_TRUE(result.counts);
  EXPECT_EQ(result.counts->launches, 0u) << "it has no kernel";
  EXPECT_EQ(result.counts->moved_over_least(), 1);
  EXPECT_EQ(result.gb_per_s(), 0);
}

TEST(Bench, AWrongKernelIsAFailureAndIsNotTimed) {
  Op op = copy_op();
  op.run = [](const Call& call) {
    call.stream.fill(call.operands[0].address(), 0, 1, call.operands[0].bytes());
  };
  const BenchResult result = bench(op, copy_case(), context_on("cpu", {}), kShort, nullptr);
  EXPECT_FALSE(result.good());
  EXPECT_THAT(result.failure, HasSubstr("elements of out are wrong"));
  EXPECT_FALSE(result.measurement);

  op.run = [](const Call&) {};
  EXPECT_THAT(bench(op, copy_case(), context_on("cpu", {}), kShort, nullptr).failure,
              HasSubstr("never written"));
  op.run = [](const Call&) -> void { throw Error(ErrorCode::cuda, "an illegal address"); };
  EXPECT_EQ(bench(op, copy_case(), context_on("cpu", {}), kShort, nullptr).failure,
            "the launch failed: an illegal address");
}

// On the host the only way to be called is this one: five calls are right, and then it is over.
TEST(Bench, AKernelThatIsRightOnceAndWrongLaterFails) {
  Op op = copy_op();
  op.run = [calls = std::make_shared<int>(0)](const Call& call) {
    if (++*calls > 5) {
      call.stream.fill(call.operands[0].address(), 0, 1, call.operands[0].bytes());
    } else {
      copy_op().run(call);
    }
  };
  const BenchResult result = bench(op, copy_case(), context_on("cpu", {}), kShort, nullptr);
  EXPECT_THAT(result.failure, StartsWith("it was right when it was verified, and wrong in later calls: 20"));
  EXPECT_THAT(result.failure, HasSubstr("of 2048 elements of out are wrong, the worst at ["));
  EXPECT_FALSE(result.measurement) << "the time of something else";
}

// Its output holds the right values from an earlier call.
TEST(Bench, AKernelThatDoesNothingOnceItsResultIsThereFails) {
  Op op = copy_op();
  op.run = [calls = std::make_shared<int>(0)](const Call& call) {
    if (++*calls <= 5) copy_op().run(call);
  };
  EXPECT_THAT(bench(op, copy_case(), context_on("cpu", {}), kShort, nullptr).failure,
              HasSubstr("2048 of 2048 elements of out are wrong"));
}

// x = 2 x, in place.
Op doubling_in_place() {
  Op op = copy_op();
  op.name = "double";
  op.operands = [](const Problem& problem) -> std::vector<Operand> {
    return {{.name = "x", .role = Role::inout, .dtype = problem.dtype, .shape = problem.shape}};
  };
  op.reference = [](const Problem&, std::span<const HostTensor> inputs, const EachRow&) {
    std::vector<double> values = inputs[0].values;
    for (double& value : values) value *= 2;
    return std::vector<Expected>{{std::move(values), {}}};
  };
  op.run = [](const Call& call) {
    call.stream.enqueue([x = call.operands[0].address(), n = call.operands[0].size()] {
      for (std::int64_t i = 0; i < n; ++i) std::bit_cast<float*>(x)[i] *= 2;
    });
  };
  return op;
}

TEST(Bench, WhatIsReadAndWrittenHasItsValuesBeforeEveryCall) {
  BenchCase which = copy_case();
  which.problem.dtype = DType::f32;
  const BenchResult result = bench(doubling_in_place(), which, context_on("cpu", {}), kShort, nullptr);
  EXPECT_EQ(result.failure, "") << "hundreds of calls without it would end at infinity";
  EXPECT_TRUE(result.measurement);
}

TEST(Bench, TheReferenceIsMeasuredOnTheHost) {
  BenchCase which = copy_case();
  which.backend = "ref";
  const BenchResult result = bench(copy_op(), which, context_on("sim", {}), kShort, nullptr);
  EXPECT_EQ(result.failure, "");
  EXPECT_EQ(result.measurement->method, "host");
  EXPECT_EQ(to_string(result.which), "copy best f16 64x32 (ref)");
}

BenchResult full_result() {
  BenchResult result{.which = copy_case()};
  result.which.problem.options = {{"dim", "-1"}};
  result.cost = {4096, 4096, 100};
  result.config = {{"block", 256}};
  result.kernels = {{"copy<half>", "abc", "sm_90a", "13.0.88", 32, 16}};
  result.measurement = Measurement{.method = "graph",
                                   .samples = {{0.5, 0.25}, {0.125}},
                                   .calls_per_sample = 8,
                                   .sets = 4,
                                   .colder_than_cache = true,
                                   .clock = ClockReport{1900, 1800, 1980, 1980}};
  result.measurement->summary = summarize(std::vector<double>{0.5, 0.25, 0.125});
  result.measurement->median = {0.125, 0.5};
  result.ceiling = Ceiling{{2, 1}, 8192, 100, "move"};
  result.counts = Counts{.launches = 1, .global_sectors = 100, .least_sectors = 50};
  return result;
}

TEST(BenchJson, GoesThereAndBack) {
  const Json json = to_json(full_result());
  EXPECT_EQ(to_json(bench_result(json)), json);
  EXPECT_EQ(Json::parse(json.dump()), json);
  EXPECT_EQ(json.at("gb_per_s").as_double(), full_result().gb_per_s());
  BenchResult failed{.which = copy_case(), .failure = "wrong"};
  const Json failed_json = to_json(failed);
  EXPECT_EQ(failed_json.at("status").as_string(), "failed");
  EXPECT_EQ(bench_result(failed_json).failure, "wrong");
}

TEST(BenchJson, RefusesWhatItIsNot) {
  const auto complaint = [](const std::string& text) -> std::string {
    try {
      read_bench_document(Json::parse(text), "b.json");
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::parse);
      return std::string(error.message());
    }
    return "nothing was thrown";
  };
  const std::string start = "b.json: expected what `gpuforge bench --save` writes: ";
  EXPECT_THAT(complaint("{}"), StartsWith(start));
  EXPECT_THAT(complaint("[]"), StartsWith(start));
  EXPECT_EQ(complaint(R"({"schema": 99, "cases": []})"), start + "its schema is 99; this program reads 1");
  EXPECT_THAT(complaint(R"({"schema": 1, "cases": [{"status": "ok"}]})"), StartsWith(start));
  Json empty_samples = to_json(full_result());
  Json time = empty_samples.at("time");
  time.set("samples_ms", Json::array());
  empty_samples.set("time", time);
  Json document = Json::object();
  document.set("schema", 1);
  document.set("cases", Json(Json::Array{empty_samples}));
  EXPECT_THAT(complaint(document.dump()), StartsWith(start));
  EXPECT_THAT(read_bench_document(Json::parse(R"({"schema": 1, "cases": []})"), "b.json"), IsEmpty());
}

}  // namespace
}  // namespace gpuforge::lab
