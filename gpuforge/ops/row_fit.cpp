#include "gpuforge/ops/row_fit.h"

#include <algorithm>

namespace gpuforge::ops {
namespace {

// Of 16 bytes: what a cluster reads with.
bool whole_loads(int vector, const RowProblem& problem) {
  return vector * bytes_of(problem.dtype) == kMaxVectorBytes;
}

}  // namespace

int bytes_of(DType dtype) {
  return static_cast<int>(element_bytes(dtype));
}

int most_items(const RowProblem& problem, int vector, int cluster) {
  const int each = vector == 1 ? 8 : bytes_of(problem.dtype);
  return (cluster > 1 ? problem.cluster_held_bytes : problem.held_bytes) / each;
}

bool takes_turns(const RowConfig& config, DType dtype) {
  const bool has_registers = dtype == DType::f32 && config.threads <= kThreadsBeside;  // others spill
  const bool has_warps = config.threads >= 256;  // one for every load of a thread
  return config.cluster > 8 && config.form == RowForm::whole && config.items * bytes_of(dtype) > 64 &&
         has_registers && has_warps;
}

std::size_t shared_bytes(const RowConfig& config, const RowProblem& problem) {
  if (config.cluster == 1) return 0;
  const std::size_t held = static_cast<std::size_t>(config.threads) * static_cast<std::size_t>(config.items) *
                           element_bytes(problem.dtype) *
                           static_cast<std::size_t>(problem.cluster_shared_arrays);
  RowConfig launched = config;
  launched.form = form_of(config, problem);
  return takes_turns(launched, problem.dtype) ? held + held / 4 : held;  // a quarter of the next row
}

std::int64_t held_elements(const RowConfig& config) {
  return std::int64_t{config.cluster} * config.threads * config.items;
}

std::int64_t elements_to_hold(const RowProblem& problem, int vector) {
  return problem.length / vector * vector;
}

bool holds_row(const RowConfig& config, const RowProblem& problem) {
  return config.items > 0 && elements_to_hold(problem, config.vector) <= held_elements(config);
}

bool fits(const RowConfig& config, const RowProblem& problem) {
  const int block = config.threads * config.rows;
  if (block < 32 || block > kMaxThreads) return false;
  if (config.vector > 1 && 2 * config.vector > config.threads) return false;
  if (config.cluster > 1 && (config.items == 0 || !whole_loads(config.vector, problem))) return false;
  if (config.items == 0) return true;
  return config.items >= config.vector &&
         config.items <= most_items(problem, config.vector, config.cluster) && holds_row(config, problem);
}

std::int64_t rows_ahead(const RowProblem& problem, const RowConfig& config,
                        const device::DeviceFacts& facts) {
  if (problem.arrays == 0 || config.items == 0 || config.threads < 32 || config.form == RowForm::any)
    return 0;
  const int in_registers = problem.arrays - (config.cluster > 1 ? problem.cluster_shared_arrays : 0);
  const int held = config.items * bytes_of(problem.dtype) * in_registers;
  const int threads = held <= 64 ? 1536 : 1024;  // of a multiprocessor, as many as the kernels ask for
  const int blocks = std::max(threads / (config.threads * config.rows), 1);  // of a multiprocessor
  const std::int64_t at_once =
      std::max<std::int64_t>(std::int64_t{facts.multiprocessors} * blocks * config.rows / config.cluster, 1);
  const int parts = held <= 32 ? 2 : config.cluster > 1 ? kAheadParts : problem.ahead_parts;
  return problem.count <= at_once ? 0 : std::max<std::int64_t>(at_once / parts, 1);
}

RowForm form_of(const RowConfig& config, const RowProblem& problem) {
  const bool much = config.items * bytes_of(problem.dtype) > 64;
  if (config.cluster == 1 && problem.form == RowForm::whole && much && config.threads > kThreadsBeside)
    return RowForm::unit;
  return problem.form;
}

int most_cluster(const RowProblem& problem, const device::DeviceFacts& facts) {
  if (!facts.cluster_launch || !whole_loads(problem.vector, problem)) return 1;
  return std::min(problem.most_cluster, static_cast<int>(facts.launch.max_cluster_blocks));
}

bool has_shared_memory(const RowConfig& config, const RowProblem& problem, const device::DeviceFacts& facts) {
  return shared_bytes(config, problem) + 4096 <= facts.launch.max_shared_per_block;
}

}  // namespace gpuforge::ops
