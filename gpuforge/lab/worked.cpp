#include "gpuforge/lab/worked.h"

#include "gpuforge/device/host_machine.h"
#include "gpuforge/lab/contents.h"
#include "gpuforge/lab/host_bytes.h"

namespace gpuforge::lab {
namespace {

// The reference and the comparison hold everything as doubles: a shape that was mistyped should be a sentence
// and not the end of the machine.
void check_memory(const std::vector<Operand>& operands, std::string_view op) {
  double elements = 0;
  double stored_bytes = 0;
  for (const Operand& operand : operands) {
    const auto count = static_cast<double>(element_count(operand.shape));
    elements += count;
    stored_bytes += count * static_cast<double>(element_bytes(operand.dtype));
  }
  if (elements < 1e6) return;
  const double wanted = elements * 2 * sizeof(double) + stored_bytes * 4;
  const auto free = static_cast<double>(device::read_host_memory().free_bytes);
  if (free == 0 || wanted <= free) return;
  throw Error(
      ErrorCode::out_of_memory,
      format_text("{}: comparing {:.0f} elements takes about {:.1f} GiB of the host's memory, and {:.1f} GiB "
                  "are free; take a smaller shape",
                  op, elements, wanted / 0x1p30, free / 0x1p30));
}

}  // namespace

Worked work_out(const Op& op, const Problem& problem, Contents contents, std::uint64_t seed) {
  Worked worked{.operands = op.operands(problem), .inputs = {}, .expected = {}};
  check_memory(worked.operands, op.name);
  std::vector<HostTensor> inputs;
  for (const Operand& operand : worked.operands) {
    worked.inputs.emplace_back();
    if (operand.role == Role::output) continue;
    inputs.push_back(make_input(operand, contents, seed));
    worked.inputs.back() = as_stored(inputs.back().values, operand.dtype);
  }
  worked.expected = op.reference(problem, inputs, each_row_on_all_threads);
  return worked;
}

std::shared_ptr<const Worked> LastWorked::find(const Op& op, const Problem& problem, Contents contents,
                                               std::uint64_t seed) {
  std::string key =
      format_text("{}\n{}\n{}\n{}\n{}", op.name, op.file.string(), to_string(problem), name(contents), seed);
  if (worked_ != nullptr && key == key_) return worked_;
  worked_.reset();  // before the next one takes as much memory again
  worked_ = std::make_shared<const Worked>(work_out(op, problem, contents, seed));
  key_ = std::move(key);
  return worked_;
}

}  // namespace gpuforge::lab
