#include "gpuforge/lab/bench.h"

#include "gpuforge/device/cpu_device.h"
#include "gpuforge/lab/check.h"
#include "gpuforge/lab/contents.h"
#include "gpuforge/lab/recheck.h"

namespace gpuforge::lab {
namespace {

// What is wrong, in one sentence; empty when nothing is.
std::string first_fault(const CheckReport& report) {
  if (!report.faults.empty()) return report.faults.front();
  for (const OutputReport& output : report.outputs) {
    const Comparison& comparison = output.comparison;
    if (comparison.good()) continue;
    if (comparison.wrong == 0)
      return format_text("{} is wrong in its norm by {:.3g}", output.name, comparison.norm_error);
    return format_text("{} of {} elements of {} are wrong, the worst {} where {} was expected",
                       comparison.wrong, comparison.elements, output.name, comparison.got, comparison.want);
  }
  return {};
}

std::vector<KernelFacts> kernel_facts(const Op& op, const BenchCase& which, Context& context) {
  std::vector<KernelFacts> list;
  if (!op.kernels) return list;
  for (const auto& kernel : op.kernels(context, which.problem, which.variant, nullptr)) {
    const jit::Compiled& compiled = kernel->compiled();
    const jit::Entry& entry = kernel->entry();
    list.push_back({.expression = entry.expression.empty() ? entry.name : entry.expression,
                    .key = compiled.key,
                    .arch = compiled.arch.name(),
                    .compiler = compiled.compiler_version,
                    .registers = entry.registers,
                    .spill_bytes = entry.spill_store_bytes + entry.spill_load_bytes});
  }
  return list;
}

// The reference on the host: its time says what the plain loop costs, and nothing about a device.
Measurement measure_reference(const Op& op, const Problem& problem, const MeasureOptions& options) {
  auto inputs = std::make_shared<std::vector<HostTensor>>();
  for (const Operand& operand : op.operands(problem)) {
    if (operand.role != Role::output) inputs->push_back(make_input(operand, Contents::normal, 1));
  }
  Workload work{.name = op.name};
  work.enqueue = [&op, &problem, inputs](std::size_t, device::Stream&) {
    op.reference(problem, *inputs, each_row_on_all_threads);
  };
  return measure(work, Context::make(device::make_cpu_device()), options);
}

void bench_kernel(const Op& op, const std::shared_ptr<Context>& context, const MeasureOptions& options,
                  LastWorked& last, BenchResult& result) {
  const BenchCase& which = result.which;
  const device::DeviceFacts& facts = context->device().facts();
  const CheckCase checked{.problem = which.problem, .variant = which.variant};
  const std::shared_ptr<const Worked> worked = last.find(op, checked.problem, checked.contents, checked.seed);
  const CheckReport report = check(op, checked, *worked, context);
  result.failure = first_fault(report);
  if (!result.good()) return;
  const bool runs_kernels = facts.kind != device::DeviceKind::cpu;
  if (runs_kernels) {
    result.kernels = kernel_facts(op, which, *context);
    if (op.choose) {
      Choice choice = op.choose(which.problem, which.variant, facts, context->tuning());
      context->log().debug("{}: {} ({})", to_string(which), gpuforge::to_string(choice.config),
                           choice.reason);
      result.config = std::move(choice.config);
      result.config_reason = std::move(choice.reason);
    }
  }
  const bool rotate = facts.kind == device::DeviceKind::cuda && options.method == Method::graph;
  const Workload work =
      op_workload(op, which.problem, which.variant, nullptr, *worked, context, rotate ? 1024 : 1);
  if (facts.kind == device::DeviceKind::sim) {
    result.counts = count(work, context);
  } else {
    result.measurement = measure(work, context, options);
  }
  result.failure = recheck(op, which.problem, *worked, work, context);
  if (result.good()) return;
  result.measurement.reset();  // the time of something else
  result.counts.reset();
}

// Once the op's operands are gone: the ceiling needs as much memory again.
void find_ceiling(Ceilings& ceilings, BenchResult& result) {
  try {
    result.ceiling = ceilings.find(result.cost);
  } catch (const Error& error) {  // it says nothing about the case
    result.measurement->note += format_text("{}there is no ceiling: {}",
                                            result.measurement->note.empty() ? "" : "; ", error.message());
  }
}

}  // namespace

std::string to_string(const BenchCase& which) {
  std::string text = format_text("{} {} {}", which.op, which.variant, to_string(which.problem));
  if (which.backend != "kernel") text += format_text(" ({})", which.backend);
  return text;
}

double BenchResult::gb_per_s() const {
  if (!measurement || measurement->summary.p50 <= 0) return 0;
  return (cost.bytes_read + cost.bytes_written) / measurement->summary.p50 / 1e6;
}

double BenchResult::tflop_per_s() const {
  if (!measurement || measurement->summary.p50 <= 0) return 0;
  return cost.flops / measurement->summary.p50 / 1e9;
}

double BenchResult::share_of_ceiling() const {
  return ceiling && ceiling->gb_per_s > 0 ? gb_per_s() / ceiling->gb_per_s : 0;
}

BenchResult bench(const Op& op, const BenchCase& which, const std::shared_ptr<Context>& context,
                  const MeasureOptions& options, Ceilings* ceilings, LastWorked& last) {
  BenchResult result{.which = which};
  try {
    result.cost = op.cost(which.problem);
    if (which.backend == "ref") {
      result.measurement = measure_reference(op, which.problem, options);
    } else {
      bench_kernel(op, context, options, last, result);
      if (ceilings != nullptr && result.measurement) find_ceiling(*ceilings, result);
    }
  } catch (const Error& error) {
    result.failure = format_text("{}: {}", name(error.code()), error.message());
  } catch (const std::bad_alloc&) {
    result.failure = "out_of_memory: this machine refused the memory that verifying it needs";
  }
  return result;
}

}  // namespace gpuforge::lab
