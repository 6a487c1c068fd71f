#include "gpuforge/lab/workload.h"

#include <algorithm>

namespace gpuforge::lab {
namespace {

constexpr std::size_t kMostSets = 1024;
constexpr std::size_t kMostBytes = std::size_t{16} << 30;

}  // namespace

std::size_t operand_sets(std::size_t set_bytes, std::size_t cache_bytes, std::size_t free_bytes) {
  const std::size_t size = std::max<std::size_t>(set_bytes, 1);
  const std::size_t wanted = std::max<std::size_t>(4, (3 * cache_bytes + size - 1) / size);
  const std::size_t fitting = std::min(free_bytes / 10 * 6, kMostBytes) / size;
  return std::max<std::size_t>(1, std::min({wanted, fitting, kMostSets}));
}

Workload op_workload(const Op& op, const Problem& problem, std::string_view variant, const Config* config,
                     const Worked& worked, const std::shared_ptr<Context>& context, std::size_t most_sets) {
  const std::vector<Operand>& operands = worked.operands;
  Workload work;
  work.name = op.name;
  for (const Operand& operand : operands) {
    work.set_bytes += static_cast<std::size_t>(element_count(operand.shape)) * element_bytes(operand.dtype);
  }
  const device::DeviceFacts& facts = context->device().facts();
  // Calls that are prepared one by one have no use for more than one set.
  const bool in_place = std::any_of(operands.begin(), operands.end(), [](const Operand& operand) {
    return operand.role == Role::inout && element_count(operand.shape) > 0;
  });
  if (in_place) most_sets = 1;
  work.sets = std::min(
      most_sets, operand_sets(work.set_bytes, facts.l2_bytes, context->device().memory_info().free_bytes));

  const auto stream = context->make_stream();
  auto sets = std::make_shared<std::vector<std::vector<Array>>>(work.sets);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const auto make = [&] { return empty(context, operands[i].shape, operands[i].dtype, *stream); };
    (*sets)[0].push_back(make());
    const Array& first = (*sets)[0].back();
    const bool output = operands[i].role == Role::output;
    if (!output && first.size() > 0)
      stream->copy_to_device(first.address(), worked.inputs[i].data(), first.bytes());
    for (std::size_t set = 1; set < work.sets; ++set)
      (*sets)[set].push_back(output ? make() : first.copy(*stream));
  }
  // The first values of what is read and written.
  auto originals = std::make_shared<std::vector<std::pair<std::size_t, Array>>>();
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].role == Role::inout && (*sets)[0][i].size() > 0)
      originals->emplace_back(i, (*sets)[0][i].copy(*stream));
  }
  stream->synchronize();
  if (!originals->empty()) {
    work.prepare = [sets, originals](std::size_t set, device::Stream& on) {
      for (const auto& [i, original] : *originals)
        on.copy((*sets)[set][i].address(), original.address(), original.bytes());
    };
  }
  work.poison = [sets, operands](device::Stream& on) {
    for (const std::vector<Array>& set : *sets) {
      for (std::size_t i = 0; i < operands.size(); ++i) {
        if (operands[i].role == Role::output && set[i].size() > 0)
          on.fill(set[i].address(), 0xff, 1, set[i].bytes());
      }
    }
  };
  work.operands = sets;
  work.enqueue = [sets, run = op.run, problem, variant = std::string(variant),
                  config = config != nullptr ? std::optional(*config) : std::nullopt](std::size_t set,
                                                                                      device::Stream& on) {
    run({.problem = problem,
         .variant = variant,
         .config = config ? &*config : nullptr,
         .operands = (*sets)[set],
         .stream = on});
  };
  return work;
}

}  // namespace gpuforge::lab
