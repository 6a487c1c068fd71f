#include "gpuforge/lab/worked.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpuforge/base/convert.h"
#include "gpuforge/lab/workload_for_tests.h"

namespace gpuforge::lab {
namespace {

TEST(LabWorked, HasWhatIsGivenAndWhatIsExpected) {
  const Worked worked = work_out(copy_op(), {.shape = {5, 7}, .dtype = DType::f16}, Contents::normal, 3);
  ASSERT_EQ(worked.operands.size(), 2u);
  EXPECT_TRUE(worked.inputs[0].empty()) << "an output";
  ASSERT_EQ(worked.inputs[1].size(), 70u);
  ASSERT_EQ(worked.expected.size(), 1u);
  for (std::size_t i = 0; i < 35; ++i)
    EXPECT_EQ(load_double(worked.inputs[1].data() + 2 * i, DType::f16), worked.expected[0].values[i]);
}

TEST(LabWorked, TheReferenceIsAskedOnceForOneProblem) {
  int asked = 0;
  Op op = copy_op();
  op.reference = [&asked](const Problem&, std::span<const HostTensor> inputs, const EachRow&) {
    ++asked;
    return std::vector<Expected>{{inputs[0].values, {}}};
  };
  LastWorked last;
  const Problem problem{.shape = {64}, .dtype = DType::f16};
  const auto first = last.find(op, problem, Contents::normal, 1);
  EXPECT_EQ(last.find(op, problem, Contents::normal, 1), first);
  EXPECT_EQ(asked, 1);
  Problem other = problem;
  other.options["dim"] = "0";
  last.find(op, other, Contents::normal, 1);
  EXPECT_EQ(asked, 2);
  last.find(op, problem, Contents::normal, 1);
  EXPECT_EQ(asked, 3) << "the last alone is kept: they are large";
  last.find(op, problem, Contents::zeros, 1);
  last.find(op, problem, Contents::zeros, 2);
  EXPECT_EQ(asked, 5);
  Op of_file = op;
  of_file.file = "copy.cu";
  last.find(of_file, problem, Contents::zeros, 2);
  EXPECT_EQ(asked, 6);
}

TEST(LabWorked, EachRowOnceInOrderOrOnAllThreads) {
  for (const std::size_t rows : {std::size_t{0}, std::size_t{1}, std::size_t{100'000}}) {
    for (const std::size_t row_elements : {std::size_t{0}, std::size_t{1}, std::size_t{1} << 20}) {
      std::vector<int> seen(rows);
      each_row_on_all_threads(rows, row_elements, [&](std::size_t row) { ++seen[row]; });
      EXPECT_EQ(seen, std::vector<int>(rows, 1));
    }
  }
  std::vector<std::size_t> order;
  each_row_in_order(3, 1, [&](std::size_t row) { order.push_back(row); });
  EXPECT_EQ(order, (std::vector<std::size_t>{0, 1, 2}));
}

}  // namespace
}  // namespace gpuforge::lab
