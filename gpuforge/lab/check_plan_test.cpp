#include "gpuforge/lab/check_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace gpuforge::lab {
namespace {

using device::DeviceKind;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

Op some_op(std::string name) {
  Op op;
  op.name = std::move(name);
  op.variants = {{"best", ""}, {"naive", ""}};
  op.dtypes = {DType::f16, DType::f32};
  op.options = {{"dim", "-1", {}, ""}};
  op.hard_contents = {Contents::zeros, Contents::nans};
  op.check_problems = {{.shape = {4, 5}},
                       {.shape = {4, 5}, .options = {{"dim", "0"}}},
                       {.shape = {7}},
                       {.shape = {1000, 1000}}};
  op.accepts_strides = true;
  op.operands = [name = op.name](const Problem& problem) -> std::vector<Operand> {
    const std::int64_t dim = std::stoll(problem.options.at("dim"));
    GPUFORGE_CHECK(dim < static_cast<std::int64_t>(problem.shape.size()), "{}: there is no axis {} in {}",
                   name, dim, shape_text(problem.shape));
    return {{.name = "x", .shape = problem.shape}};
  };
  return op;
}

std::vector<std::string> texts(const CheckPlan& plan) {
  std::vector<std::string> list;
  for (const PlannedCase& planned : plan.cases) list.push_back(to_string(planned.which));
  return list;
}

std::string refusal(std::span<const Op> ops, const CheckRequest& request) {
  try {
    plan_checks(ops, request, DeviceKind::cpu);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    return std::string(error.message());
  }
  return "nothing was thrown";
}

const std::vector<Op> kOne = {some_op("one")};

TEST(LabCheckPlan, GoesThroughEverything) {
  const CheckPlan plan = plan_checks(kOne, {}, DeviceKind::cuda);
  // Three of moderate size with 2 contents and 3 placements besides; one large.
  EXPECT_EQ(plan.cases.size(), 2u * 2u * (3u * 6u + 1u));
  EXPECT_THAT(plan.left_out, IsEmpty());
  EXPECT_EQ(plan.too_large, 0u);
  const std::vector<std::string> all = texts(plan);
  EXPECT_EQ(std::set<std::string>(all.begin(), all.end()).size(), all.size());
  EXPECT_EQ(all[0], "best f16 4x5 dim=-1");
  EXPECT_EQ(all[1], "best f16 4x5 dim=-1, zeros");
  EXPECT_EQ(all[5], "best f16 4x5 dim=-1, shifted");
  EXPECT_EQ(all.back(), "naive f32 1000x1000 dim=-1");
}

TEST(LabCheckPlan, EveryCaseHasASeedOfItsOwnThatStaysTheSame) {
  const CheckPlan plan = plan_checks(kOne, {}, DeviceKind::cuda);
  std::set<std::uint64_t> seeds;
  for (const PlannedCase& planned : plan.cases) seeds.insert(planned.which.seed);
  EXPECT_EQ(seeds.size(), plan.cases.size());
  // The same case of a smaller plan: what a failure's repeat line relies on.
  const CheckPlan one = plan_checks(kOne,
                                    {.variants = {"naive"},
                                     .dtypes = {DType::f32},
                                     .shapes = {{1000, 1000}},
                                     .contents = {Contents::normal},
                                     .placements = {Placement::contiguous}},
                                    DeviceKind::cuda);
  ASSERT_EQ(one.cases.size(), 1u);
  EXPECT_EQ(one.cases[0].which.seed, plan.cases.back().which.seed);
  EXPECT_NE(plan_checks(kOne, {.seed = 2}, DeviceKind::cuda).cases[0].which.seed, plan.cases[0].which.seed);
}

TEST(LabCheckPlan, TheSimulatorIsSparedLargeProblems) {
  const CheckPlan plan = plan_checks(kOne, {}, DeviceKind::sim);
  EXPECT_EQ(plan.cases.size(), 2u * 2u * 3u * 6u);
  EXPECT_EQ(plan.too_large, 4u);
  // But not what is asked for.
  EXPECT_EQ(plan_checks(kOne, {.shapes = {{1000, 1000}}}, DeviceKind::sim).cases.size(), 4u);
}

TEST(LabCheckPlan, Filters) {
  EXPECT_THAT(texts(plan_checks(kOne,
                                {.variants = {"naive"},
                                 .dtypes = {DType::f32},
                                 .shapes = {{3, 3}},
                                 .options = {{"dim", "1"}},
                                 .contents = {Contents::normal}},
                                DeviceKind::sim)),
              ElementsAre("naive f32 3x3 dim=1", "naive f32 3x3 dim=1, transposed",
                          "naive f32 3x3 dim=1, spread", "naive f32 3x3 dim=1, shifted"));
  // A content asked for by name is tried on large problems too.
  EXPECT_THAT(
      texts(plan_checks(kOne, {.variants = {"best"}, .dtypes = {DType::f16}, .contents = {Contents::nans}},
                        DeviceKind::cpu)),
      ElementsAre("best f16 4x5 dim=-1, nans", "best f16 4x5 dim=0, nans", "best f16 7 dim=-1, nans",
                  "best f16 1000x1000 dim=-1, nans"));
}

TEST(LabCheckPlan, AnOptionReplacesWhatProblemsSay) {
  // dim=0 makes two problems one; dim=1 does not go with the vector.
  const CheckRequest plain{.variants = {"best"},
                           .dtypes = {DType::f16},
                           .contents = {Contents::normal},
                           .placements = {Placement::contiguous}};
  CheckRequest request = plain;
  request.options = {{"dim", "0"}};
  EXPECT_THAT(texts(plan_checks(kOne, request, DeviceKind::cpu)),
              ElementsAre("best f16 4x5 dim=0", "best f16 7 dim=0", "best f16 1000x1000 dim=0"));
  request.options = {{"dim", "1"}};
  EXPECT_THAT(texts(plan_checks(kOne, request, DeviceKind::cpu)),
              ElementsAre("best f16 4x5 dim=1", "best f16 1000x1000 dim=1"));
  EXPECT_EQ(refusal(kOne, {.options = {{"dim", "5"}}}), "one: there is no axis 5 in 1000x1000");
  EXPECT_EQ(refusal(kOne, {.shapes = {{4, 4}, {4}}, .options = {{"dim", "1"}}}),
            "one: there is no axis 1 in 4");
}

TEST(LabCheckPlan, Quick) {
  const CheckPlan plan = plan_checks(kOne, {.quick = true}, DeviceKind::cuda);
  EXPECT_EQ(plan.cases.size(), 2u * 2u * 3u);
  EXPECT_EQ(texts(plan)[0], "best f16 4x5 dim=-1");
}

TEST(LabCheckPlan, WhatOnlySomeHaveLeavesTheOthersOut) {
  std::vector<Op> two = {some_op("one"), some_op("two")};
  two[1].variants.push_back({"online", ""});
  const CheckPlan plan = plan_checks(two, {.variants = {"online"}}, DeviceKind::cpu);
  EXPECT_THAT(plan.left_out, ElementsAre("one: there is no variant 'online'; it has best, naive"));
  for (const PlannedCase& planned : plan.cases) EXPECT_EQ(planned.op->name, "two");
  EXPECT_EQ(
      refusal(two, {.variants = {"fast"}}),
      "check: none of the 2 ops has what was asked for; one: there is no variant 'fast'; it has best, naive");
  EXPECT_EQ(refusal(kOne, {.variants = {"fast"}}), "one: there is no variant 'fast'; it has best, naive");
  EXPECT_EQ(refusal(kOne, {.dtypes = {DType::i8}}), "one: dtype i8 was asked for; it has f16, f32");
  EXPECT_EQ(refusal(kOne, {.contents = {Contents::huge}}),
            "check: nothing is left of the cases with what was asked for");
}

TEST(LabCheckPlan, ResultsComeInOrderAndALostDeviceEndsIt) {
  const CheckPlan plan = plan_checks(kOne, {.quick = true}, DeviceKind::cpu);
  int runs = 0;
  int told = 0;
  const std::vector<CaseResult> results = run_checks(
      plan,
      [&](const Op&, const CheckCase&) {
        CheckReport report;
        if (++runs == 3) {
          report.faults.push_back("the launch failed");
          report.device_lost = true;
        }
        return report;
      },
      [&](const CaseResult&) { ++told; });
  ASSERT_EQ(results.size(), plan.cases.size());
  EXPECT_EQ(runs, 3);
  EXPECT_EQ(told, 12);
  EXPECT_TRUE(results[1].report.good());
  EXPECT_FALSE(results[2].report.good());
  EXPECT_THAT(complaints(results[3].report), ElementsAre("it was not run: a case before it lost the device"));
}

}  // namespace
}  // namespace gpuforge::lab
