#include "gpuforge/lab/recheck.h"

#include "gpuforge/lab/check.h"

namespace gpuforge::lab {
namespace {

std::string complaint(const OutputReport& output, std::size_t set, std::size_t sets) {
  CheckReport report;
  report.outputs.push_back(output);
  const std::string where = sets > 1 ? format_text(" (operands {} of {})", set + 1, sets) : "";
  return format_text("it was right when it was verified, and wrong in later calls{}: {}", where,
                     complaints(report).front());
}

}  // namespace

std::string recheck(const Op& op, const Problem& problem, const Worked& worked, const Workload& work,
                    const std::shared_ptr<Context>& context) {
  GPUFORGE_ASSERT(work.operands != nullptr, "{}: a workload without operands cannot be looked at", op.name);
  const auto stream = context->make_stream();
  std::vector<std::vector<std::byte>> right(worked.operands.size());
  for (std::size_t set = 0; set < work.sets; ++set) {
    std::size_t output = 0;
    for (std::size_t i = 0; i < worked.operands.size(); ++i) {
      const Operand& operand = worked.operands[i];
      if (operand.role == Role::input) continue;
      const Tolerance tolerance = op.tolerance(problem, output);
      const Expected& expected = worked.expected[output++];
      const Array& array = (*work.operands)[set][i];
      std::vector<std::byte> got(array.bytes());
      if (got.empty()) continue;
      array.to_host(got, *stream);
      if (set > 0 && got == right[i]) continue;  // most are: comparing with the reference takes longer
      const Comparison found = compare(expected, got, operand.dtype, tolerance);
      if (!found.good()) return complaint({operand.name, operand.shape, found, {}}, set, work.sets);
      right[i] = std::move(got);
    }
  }
  return {};
}

}  // namespace gpuforge::lab
