#include "gpuforge/lab/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>

#include "gpuforge/array/context_for_tests.h"

namespace gpuforge::lab {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

// What a run does to its memory: y and x are the first elements of contiguous f32 arrays of n.
using Body = std::function<void(float* y, float* x, std::int64_t n)>;

// y = 2 x, as `body` does it on the host.
Op doubling(Body body) {
  Op op;
  op.name = "doubling";
  op.variants = {{"only", ""}};
  op.dtypes = {DType::f32};
  op.operands = [](const Problem& problem) -> std::vector<Operand> {
    return {{.name = "y", .role = Role::output, .shape = problem.shape},
            {.name = "x", .role = Role::input, .shape = problem.shape}};
  };
  op.reference = [](const Problem&, std::span<const HostTensor> inputs, const EachRow&) {
    Expected expected;
    for (const double value : inputs[0].values) expected.values.push_back(2 * value);
    return std::vector{expected};
  };
  op.tolerance = [](const Problem&, std::size_t) -> Tolerance { return {.relative = 1e-6}; };
  op.run = [body](const Call& call) {
    call.stream.enqueue(
        [body, y = call.operands[0].address(), x = call.operands[1].address(), n = call.operands[1].size()] {
          body(std::bit_cast<float*>(y), std::bit_cast<float*>(x), n);
        });
  };
  return op;
}

void correct(float* y, const float* x, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = 2 * x[i];
}

class LabCheck : public ArrayTest {
 protected:
  CheckReport report(const Op& op, const Shape& shape = {3, 4}, std::uint64_t seed = 5) {
    CheckCase which;
    which.problem.shape = shape;
    which.variant = "only";
    which.seed = seed;
    return check(op, which, context_);
  }
  std::vector<std::string> found(const Body& body) { return complaints(report(doubling(body))); }
};
INSTANTIATE_TEST_SUITE_P(Cpu, LabCheck, testing::Values("cpu"));

TEST_P(LabCheck, WhatIsRightPasses) {
  for (const Shape& shape : {Shape{3, 4}, Shape{1}, Shape{0}, Shape{}}) {
    const CheckReport good = report(doubling(correct), shape);
    EXPECT_TRUE(good.good());
    EXPECT_THAT(complaints(good), IsEmpty());
    EXPECT_TRUE(good.outputs[0].map.lines.empty());
  }
}

TEST_P(LabCheck, AWrongElementIsShown) {
  const CheckReport bad = report(doubling([](float* y, float* x, std::int64_t n) {
    correct(y, x, n);
    y[6] = 7;
  }));
  EXPECT_FALSE(bad.good());
  EXPECT_THAT(
      complaints(bad),
      ElementsAre(StartsWith("1 of 12 elements of y are wrong, the worst at [1, 2]: got 7, expected ")));
  EXPECT_THAT(bad.outputs[0].map.lines, ElementsAre("....", "..#.", "...."));
}

TEST_P(LabCheck, ZerosAndCopiesFail) {
  EXPECT_THAT(found([](float* y, float*, std::int64_t n) { std::fill_n(y, n, 0.0f); }),
              ElementsAre(StartsWith("12 of 12 elements of y are wrong")));
  EXPECT_THAT(found([](float* y, float* x, std::int64_t n) { std::copy_n(x, n, y); }),
              ElementsAre(StartsWith("12 of 12 elements of y are wrong")));
}

TEST_P(LabCheck, WhatIsNotWrittenIsTold) {
  EXPECT_THAT(found([](float* y, float* x, std::int64_t n) { correct(y, x, n - 2); }),
              ElementsAre("2 of 12 elements of y were never written, the first at [2, 2]",
                          StartsWith("2 of 12 elements of y are wrong, the worst at [2, 2]: got ")));
}

TEST_P(LabCheck, OldContentsAreNotZero) {
  EXPECT_THAT(found([](float* y, float* x, std::int64_t n) {
                for (std::int64_t i = 0; i < n; ++i) y[i] += 2 * x[i];
              }),
              ElementsAre(StartsWith("12 of 12 elements of y differ between two runs on the same input"),
                          StartsWith("12 of 12 elements of y are wrong")));
}

TEST_P(LabCheck, AChangedInputIsTold) {
  EXPECT_THAT(found([](float* y, float* x, std::int64_t n) {
                correct(y, x, n);
                x[3] = 0;
              }),
              ElementsAre("1 of 12 elements of the input x were changed, the first at [0, 3]"));
}

TEST_P(LabCheck, WritesBesideTheArraysAreTold) {
  EXPECT_THAT(found([](float* y, float* x, std::int64_t n) {
                correct(y, x, n);
                y[n] = 0;
              }),
              ElementsAre("bytes that are not of y were changed: 4 bytes after its last element"));
  EXPECT_THAT(found([](float* y, float* x, std::int64_t n) {
                correct(y, x, n);
                x[-1] = 0;
              }),
              ElementsAre("bytes that are not of x were changed: 4 bytes before its first element"));
}

TEST_P(LabCheck, TwoRunsMustAgree) {
  int calls = 0;
  const Body wavering = [&calls](float* y, float* x, std::int64_t n) {
    correct(y, x, n);
    if (++calls % 2 == 0) y[1] = std::nextafter(y[1], 0.0f);
  };
  EXPECT_THAT(
      found(wavering),
      ElementsAre(StartsWith("1 of 12 elements of y differ between two runs on the same input, the first "
                             "at [0, 1]: ")));
  Op free = doubling(wavering);
  free.deterministic = false;
  EXPECT_TRUE(report(free).good());
}

TEST_P(LabCheck, AnInoutStartsFromItsContents) {
  Op op = doubling({});
  op.operands = [](const Problem& problem) -> std::vector<Operand> {
    return {{.name = "y", .role = Role::inout, .shape = problem.shape}};
  };
  op.run = [](const Call& call) {
    call.stream.enqueue([y = call.operands[0].address(), n = call.operands[0].size()] {
      correct(std::bit_cast<float*>(y), std::bit_cast<float*>(y), n);
    });
  };
  EXPECT_THAT(complaints(report(op)), IsEmpty());
}

TEST_P(LabCheck, WhoseFaultAnErrorIs) {
  const auto raising = [](ErrorCode code) {
    Op op = doubling(correct);
    op.run = [code](const Call&) { throw Error(code, "a sentence"); };
    return op;
  };
  for (const ErrorCode code : {ErrorCode::invalid_argument, ErrorCode::unsupported, ErrorCode::compile}) {
    EXPECT_THAT(complaints(report(raising(code))), ElementsAre("it did not run: a sentence"));
  }
  const CheckReport lost = report(raising(ErrorCode::cuda));
  EXPECT_THAT(complaints(lost), ElementsAre("the launch failed: a sentence"));
  EXPECT_TRUE(lost.device_lost);
  for (const ErrorCode code : {ErrorCode::out_of_memory, ErrorCode::unavailable, ErrorCode::internal}) {
    EXPECT_THROW(report(raising(code)), Error);
  }
}

TEST_P(LabCheck, TheSeedDecidesTheInputs) {
  std::vector<float> seen;
  const Op op = doubling([&](float* y, float* x, std::int64_t n) {
    correct(y, x, n);
    seen.push_back(x[0]);
  });
  for (const std::uint64_t seed : {1, 1, 2}) report(op, {4}, seed);
  ASSERT_EQ(seen.size(), 6u);
  EXPECT_EQ(seen[0], seen[1]);
  EXPECT_EQ(seen[0], seen[2]);
  EXPECT_NE(seen[0], seen[4]);
}

TEST(LabCheckCase, SaysWhatIsSpecialAboutIt) {
  CheckCase which;
  which.problem.shape = {33, 31};
  which.problem.dtype = DType::f16;
  which.problem.options["dim"] = "0";
  which.variant = "naive";
  EXPECT_EQ(to_string(which), "naive f16 33x31 dim=0");
  which.contents = Contents::nans;
  which.placement = Placement::spread;
  which.config = Config{{"block", 64}};
  EXPECT_EQ(to_string(which), "naive f16 33x31 dim=0, nans, spread, block=64");
}

}  // namespace
}  // namespace gpuforge::lab
