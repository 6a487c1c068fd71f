// References give the same bits on one thread and on all, in any order of rows.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "gpuforge/lab/contents.h"
#include "gpuforge/ops/registry.h"

namespace gpuforge::ops {
namespace {

void expect_same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  ASSERT_EQ(a.size(), b.size());
  if (a.empty()) return;
  EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(double)), 0);
}

void each_row_from_the_last(std::size_t rows, std::size_t, const std::function<void(std::size_t row)>& row) {
  while (rows-- > 0) row(rows);
}

void expect_independent_rows(const lab::Op& op, const lab::Problem& problem, lab::Contents contents) {
  std::vector<lab::HostTensor> inputs;
  for (const lab::Operand& operand : op.operands(problem)) {
    if (operand.role != lab::Role::output) inputs.push_back(lab::make_input(operand, contents, 7));
  }
  const auto in_order = op.reference(problem, inputs, lab::each_row_in_order);
  for (const lab::EachRow& each_row :
       {lab::EachRow(lab::each_row_on_all_threads), lab::EachRow(each_row_from_the_last)}) {
    const auto other = op.reference(problem, inputs, each_row);
    ASSERT_EQ(other.size(), in_order.size());
    for (std::size_t i = 0; i < other.size(); ++i) {
      expect_same_bits(other[i].values, in_order[i].values);
      expect_same_bits(other[i].magnitudes, in_order[i].magnitudes);
    }
  }
}

TEST(References, AreTheSameBitsOnOneThreadAndOnAll) {
  for (const lab::Op& op : all_ops()) {
    std::vector<lab::Problem> problems = op.check_problems;
    problems.push_back({.shape = {257, 1025}});  // several pieces of work
    for (const lab::Problem& given : problems) {
      if (element_count(given.shape) > 1'000'000) continue;
      const lab::Problem problem = lab::complete(op, given);
      SCOPED_TRACE(op.name + " " + to_string(problem));
      expect_independent_rows(op, problem, lab::Contents::normal);
    }
    for (const lab::Contents contents : op.hard_contents) {
      SCOPED_TRACE(op.name + " " + std::string(name(contents)));
      expect_independent_rows(op, lab::complete(op, {.shape = {65, 1025}}), contents);
    }
  }
}

}  // namespace
}  // namespace gpuforge::ops
