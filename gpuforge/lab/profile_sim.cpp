#include "gpuforge/lab/profile_sim.h"

#include <algorithm>
#include <functional>

#include "gpuforge/base/convert.h"
#include "gpuforge/device/sim_device.h"
#include "gpuforge/lab/contents.h"

namespace gpuforge::lab {
namespace {

Array make_operand(const Operand& operand, std::uint64_t seed, const std::shared_ptr<Context>& context,
                   device::Stream& stream) {
  if (operand.role == Role::output) return empty(context, operand.shape, operand.dtype, stream);
  const HostTensor tensor = make_input(operand, Contents::normal, seed);
  std::vector<std::byte> bytes(tensor.values.size() * element_bytes(operand.dtype));
  convert_elements(bytes.data(), operand.dtype, tensor.values.data(), DType::f64, tensor.values.size());
  return from_host(context, bytes, operand.shape, operand.dtype, stream);
}

// `prepared` is called between what makes the operands and the op.
void run(const Op& op, const OnceRequest& request, const std::shared_ptr<Context>& context,
         const std::function<void()>& prepared) {
  const auto stream = context->make_stream();
  std::vector<Array> arrays;
  for (const Operand& operand : op.operands(request.problem))
    arrays.push_back(make_operand(operand, request.seed, context, *stream));
  stream->synchronize();
  prepared();
  op.run({.problem = request.problem,
          .variant = request.variant,
          .config = request.config ? &*request.config : nullptr,
          .operands = arrays,
          .stream = *stream});
  stream->synchronize();
}

}  // namespace

void run_once(const Op& op, const OnceRequest& request, const std::shared_ptr<Context>& context) {
  run(op, request, context, [] {});
}

SimProfile profile_on_sim(const Op& op, const OnceRequest& request, const std::shared_ptr<Context>& context) {
  auto* const sim = dynamic_cast<device::SimDevice*>(&context->device());
  GPUFORGE_CHECK(sim != nullptr, "{}: the simulator counts, and the device is {}", op.name,
                 context->device().facts().name);
  SimProfile profile;
  profile.cost = op.cost(request.problem);
  if (!request.config && op.choose)
    profile.choice = op.choose(request.problem, request.variant, sim->facts(), context->tuning());
  run(op, request, context, [&] { sim->take_reports(); });
  profile.launches = sim->take_reports();
  return profile;
}

Problem usual_problem(const Op& op) {
  Problem usual;
  for (const Problem& problem : op.check_problems)
    if (usual.shape.empty() || element_count(problem.shape) > element_count(usual.shape)) usual = problem;
  const bool has_f32 = std::find(op.dtypes.begin(), op.dtypes.end(), DType::f32) != op.dtypes.end();
  usual.dtype = has_f32 || op.dtypes.empty() ? DType::f32 : op.dtypes.front();
  return usual;
}

std::vector<KernelResources> kernel_resources(const Op& op, const OnceRequest& request, Context& context,
                                              const jit::Arch& arch) {
  std::vector<KernelResources> all;
  if (!op.kernels) return all;
  const Config* const config = request.config ? &*request.config : nullptr;
  for (const auto& kernel : op.kernels(context, request.problem, request.variant, config)) {
    jit::KernelSource source;
    try {
      source = context.jit().embedded_source(kernel->compiled().source_name);
    } catch (const Error&) {
      continue;  // a user's
    }
    const std::string& expression = kernel->entry().expression;
    source.instantiations = {expression};
    const auto compiled = context.jit().compile(source, arch);
    all.push_back({expression, compiled->entry(expression), arch});
  }
  return all;
}

}  // namespace gpuforge::lab
