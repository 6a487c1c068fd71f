// `check` must find every mistake of mutants.cu, and nothing in the right kernels beside them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpuforge/array/context_for_tests.h"
#include "gpuforge/lab/check_plan.h"
#include "tests/lab/mutant_ops.h"

namespace gpuforge::lab_tests {
namespace {

using testing::Contains;
using testing::ContainsRegex;
using testing::IsEmpty;

// All that `check` has to say about an op, case by case.
std::vector<std::string> all_complaints(const lab::Op& op, const std::shared_ptr<Context>& context) {
  const lab::CheckPlan plan = lab::plan_checks(std::span(&op, 1), {}, context->device().facts().kind);
  std::vector<std::string> list;
  for (const lab::CaseResult& result : lab::run_checks(
           plan,
           [&](const lab::Op&which, const lab::CheckCase&one) { return lab::check(which, one, context); })) {
    for (const std::string& complaint : lab::complaints(result.report)) {
      list.push_back(format_text("{}: {}", lab::to_string(result.planned.which), complaint));
    }
  }
  return list;
}

struct Mutant {
  const char* kernel;
  const char* on_sim;  // a sentence that catches it; a regular expression
  const char* on_gpu;  // the same where there is no simulator; nullptr: luck would have to help
};

constexpr Mutant kMutants[] = {
    {"affine_writes_zeros", "257 of 257 elements of out are wrong, the worst at .*: got 0, expected ",
     "257 of 257 elements of out are wrong, the worst at .*: got 0, expected "},
    {"affine_copies_its_input", "257 of 257 elements of out are wrong",
     "257 of 257 elements of out are wrong"},
    {"affine_leaves_a_tail", "1 of 257 elements of out were never written, the first at .256.",
     "1 of 257 elements of out were never written, the first at .256."},
    {"affine_writes_past_the_end", "out of bounds at mutants.cu:[0-9]+: ",
     "bytes that are not of out were changed: [24] bytes after its last element"},
    {"affine_reads_past_the_end", "out of bounds at mutants.cu:[0-9]+: ",
     "1 of 257 elements of out are wrong, the worst at .256.: got nan"},
    {"affine_adds_to_what_was_there", "uninitialized at mutants.cu:[0-9]+: ",
     "257 of 257 elements of out differ between two runs on the same input"},
    {"affine_changes_its_input", "257 of 257 elements of the input x were changed, the first at .0.",
     "257 of 257 elements of the input x were changed, the first at .0."},
    {"affine_remembers_its_last_run",
     "elements of out differ between two runs on the same input, the first at .*: .*, then ",
     "elements of out differ between two runs on the same input, the first at .*: .*, then "},
    {"row_sum_ends_one_early", "3 of 3 elements of out are wrong, ", "3 of 3 elements of out are wrong, "},
    {"row_sum_keeps_its_sum_in_half", "f16 4x8192: . of 4 elements of out are wrong",
     "f16 4x8192: . of 4 elements of out are wrong"},
    {"row_sum_lacks_a_barrier", "race at mutants.cu:[0-9]+: ", nullptr},
    {"row_sum_adds_without_atomics", "race at mutants.cu:[0-9]+: ", "3 of 3 elements of out are wrong"},
    {"row_sum_reads_what_nobody_wrote", "uninitialized at mutants.cu:[0-9]+: ", nullptr},
    {"row_sum_adds_in_any_order", "elements of out differ between two runs on the same input", nullptr},
    {"transpose_forgets_the_edge",
     "f32 33x30: 462 of 990 elements of out were never written, the first at .16, 0.",
     "f32 33x30: 462 of 990 elements of out were never written, the first at .16, 0."},
    {"transpose_lacks_a_barrier", "race at mutants.cu:[0-9]+: ", nullptr},
};

class LabMutants : public ArrayTest {};
INSTANTIATE_TEST_SUITE_P(Sim, LabMutants, testing::Values("sim"));
INSTANTIATE_TEST_SUITE_P(Gpu, LabMutants, testing::Values("cuda:0"));

TEST_P(LabMutants, RightKernelsPass) {
  for (const char* const kernel : {"affine_right", "row_sum_right", "transpose_right"}) {
    EXPECT_THAT(all_complaints(mutant_op(kernel), context_), IsEmpty()) << kernel;
  }
}

TEST_P(LabMutants, EachIsCaught) {
  const bool simulated = context_->device().facts().kind == device::DeviceKind::sim;
  for (const Mutant& mutant : kMutants) {
    const char* const sentence = simulated ? mutant.on_sim : mutant.on_gpu;
    if (sentence == nullptr) continue;
    EXPECT_THAT(all_complaints(mutant_op(mutant.kernel), context_), Contains(ContainsRegex(sentence)))
        << mutant.kernel;
  }
}

// A report of a mutant shows where it is wrong: here the columns past the last whole tile.
TEST_P(LabMutants, TheMapShowsWhere) {
  const lab::Op op = mutant_op("transpose_forgets_the_edge");
  lab::CheckCase which;
  which.problem = lab::complete(op, {.shape = {8, 24}});
  which.variant = "only";
  const lab::CheckReport report = lab::check(op, which, context_);
  ASSERT_EQ(report.outputs.size(), 1u);
  const lab::ErrorMap& map = report.outputs[0].map;
  ASSERT_EQ(map.lines.size(), 12u);
  EXPECT_EQ(map.lines[7], "........");
  EXPECT_EQ(map.lines[8], "########");
}

}  // namespace
}  // namespace gpuforge::lab_tests
